"""What the steps of a trial cost on this machine's engine: an instance's image built cold, its proof, its examination.

    python bench/steps.py instances/pypi/parse-sub --into costs.json
    python bench/scale.py --costs costs.json

Every run starts with a store and a Dockerfile of its own, so that no layer but the base's is there; the images go
again. The reviewer is ``human`` and the agent ``simulated``: no model is asked. Needs a Docker engine and a package
index.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from costs import MEASURED, number
from scale import from_records
from traces import no_images_left

from pytest_crab.agents import AGENTS
from pytest_crab.errors import CrabError
from pytest_crab.instances import load_instance
from pytest_crab.results.files import write_trials
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.images import find_dockerfile
from pytest_crab.trial import Crew, CrewSpec, run_trial
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import Instance, Verdict

MEGABYTE = 1_000_000


def cold(dockerfile: str) -> str:
    """The Dockerfile, of whose layers the engine knows none."""
    lines = dockerfile.splitlines()
    base = next(at for at, line in enumerate(lines) if line.startswith("FROM "))
    return "\n".join([*lines[: base + 1], f"LABEL pytest-crab.steps={uuid.uuid4().hex}", *lines[base + 1 :], ""])


def measured(instance: Instance, folder: Path) -> dict[str, float]:
    """The costs of one trial of an instance, in a folder of its own. Raises CrabError, RuntimeError."""
    name = instance.required_environment.dockerfile or "image"
    (folder / "dockerfiles").mkdir(parents=True)
    (folder / "dockerfiles" / f"{name}.Dockerfile").write_text(cold(find_dockerfile(name, Path.cwd())))
    spec = CrewSpec(
        reviewer="human",
        reviewer_spec=REVIEWERS.spec("human", {}, folder),
        agent="simulated",
        agent_spec=AGENTS.spec("simulated", {}, folder),
    )
    here = Path.cwd()
    os.chdir(folder)  # a world takes Dockerfiles from the current folder
    try:
        with no_images_left([instance.id]) as images:
            with open_run_context(RuntimeSettings(runtime="docker"), folder / "store") as run_context:
                trial = run_trial(instance, Crew.build(spec), run_context)
            if trial.skipped or trial.having(Verdict.UNKNOWN):
                raise RuntimeError(f"{instance.id} was not measured: {trial.skipped or trial.error}")
            write_trials(folder / "trials.jsonl", [trial])
            key = str(trial.versions["image"])
            (image,) = (kept for kept in images.environments() if kept.key and key.startswith(kept.key))
    finally:
        os.chdir(here)
    (sample,) = from_records(folder / "trials.jsonl")
    seconds = {name: getattr(sample, name) for name in MEASURED if name != "megabytes"}
    return {**seconds, "megabytes": sum(image.layers.values()) / MEGABYTE}


def summed_up(instance: Instance, runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    """The medians, with what they are of."""
    load = " ".join(f"{number:.1f}" for number in os.getloadavg())
    return {
        **{name: round(statistics.median(run[name] for run in runs), 3) for name in MEASURED},
        "instance": instance.id,
        "oracles": len(instance.with_oracles),
        "machine": f"{os.cpu_count()} cores, load {load}, {time.strftime('%Y-%m-%d %H:%M')}",
        "runs": [{name: round(value, 3) for name, value in run.items()} for run in runs],
    }


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instance", type=Path, help="an instance's folder")
    parser.add_argument("--runs", type=number(int), default=3, help="build and run so many times (default: 3)")
    parser.add_argument("--into", type=Path, required=True, help="the file that is written, for scale.py --costs")
    options = parser.parse_args()
    try:
        instance = load_instance(options.instance)
        with tempfile.TemporaryDirectory(prefix="pytest-crab-steps-") as scratch:
            runs = [measured(instance, Path(scratch, f"{at}")) for at in range(options.runs)]
        found = summed_up(instance, runs)
        options.into.write_text(json.dumps(found, indent=2) + "\n")
    except (CrabError, RuntimeError) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename or options.into}: {error.strerror}")
    print(f"{instance.id}, {found['oracles']} oracles, median of {options.runs}; {found['machine']}")
    print(f"  image built cold, with the fetch of its trees: {found['image']:.1f} s, {found['megabytes']:.0f} MB")
    print(f"  proof: {found['proof']:.2f} s; examination: {found['examine']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
