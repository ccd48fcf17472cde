"""What it takes to judge 184 recorded revisions again, where their environments and proofs are there.

    python bench/rejudge.py [--runs 3] [SET]

As many as c-CRAB has instances, with nearly as many oracles (224, it has 234), all of them plain as its are: four
revisions of each of 46 instances, which are made of the comments of pypi and quickstart, without the projects' own
tests. The revisions are diffs that these sets give as right or wrong fixes of a comment, so that its verdict is known;
another verdict is printed. With SET, which has been certified, all that are recorded in it. Reviews and revisions are
in the store, and each run makes all verdicts anew, in the local runtime, two trials at a time. Processor time is that
of all processes, those inside of sandboxes too. Needs bubblewrap, a package index, and root or a control group that it
may divide.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from figures import middle, tell

from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.loading import FILE, load_instance
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.results.files import read_trials
from pytest_crab.types import Instance, Isolation, Verdict

SETS = Path(__file__).resolve().parent.parent / "instances"
#: Recorded reviewers, and the instances that each has a revision of.
REVIEWERS, INSTANCES = 4, 46
#: Seconds of wall on two processors without other work.
BUDGET = 60.0


class Took(NamedTuple):
    """Seconds of a run: of wall, and of the processor."""

    wall: float
    processor: float


def write_set(folder: Path) -> None:
    """Write instances with recorded revisions."""
    shutil.copytree(SETS / "quickstart" / "projects", folder / "projects")
    for model, instance in itertools.islice(instances(), INSTANCES):
        shutil.copytree(model, folder / instance.id)
        (folder / instance.id / FILE).write_text(instance_yaml(instance))
        for number, (comment, diff, right) in enumerate(itertools.islice(fixes(instance), REVIEWERS), 1):
            place = folder / FOLDER / f"r{number}"
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model / diff, place / f"{instance.id}.diff")
            verdicts = {one.id: right if one.id == comment else None for one in instance.comments}
            record = {"schema": 1, "repo": instance.repo, "findings": 1, "verdicts": verdicts, "source": diff}
            (place / f"{instance.id}.json").write_text(json.dumps(record))


def instances() -> Iterator[tuple[Path, Instance]]:
    """Yield two instances of each shipped one, with its folder: of its first comment, and of the two that follow."""
    for file in (file for name in ("pypi", "quickstart") for file in sorted((SETS / name).glob(f"*/{FILE}"))):
        whole = load_instance(file)
        plain = [one for one in whole.with_oracles if one.required_oracle.isolation is not Isolation.PROCESS]
        for number, comments in enumerate(filter(None, (plain[:1], plain[1:3])), 1):
            name = f"{whole.id}-{number}"
            yield file.parent, dataclasses.replace(whole, id=name, comments=tuple(comments), pass_to_pass=())


def fixes(instance: Instance) -> Iterator[tuple[str, str, bool]]:
    """Yield comment, diff and whether it is right: a right and a wrong one of each comment in turn."""
    pairs = ([(one.id, *pair) for pair in zip(one.accepts, one.rejects, strict=False)] for one in instance.comments)
    for turn in itertools.zip_longest(*pairs):
        for comment, accepted, rejected in filter(None, turn):
            yield from ((comment, accepted, True), (comment, rejected, False))


@contextmanager
def control_group() -> Iterator[Path]:
    """Yield the folder of a new control group below this process's. Raises SystemExit where none can be made."""
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    root = next((fields[1] for fields in mounts if fields[2] == "cgroup2"), "")
    try:
        group = Path(tempfile.mkdtemp(prefix="crab-", dir=Path(root, own[4:])))
    except OSError as error:
        sys.exit(f"no control group can be made below {root}{own[3:]} ({error.strerror}): run as root")
    try:
        yield group
    finally:
        group.rmdir()


def run(folder: Path, argv: Sequence[str]) -> Took:
    """Run pytest once in a control group of its own. Raises SystemExit if it went wrong."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it all modules are compiled in each run
    with control_group() as group:
        start = time.perf_counter()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_crab.plugin", "--crab-runtime=local", *argv]
        inside = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *command]
        with (folder / "out.txt").open("wb") as out:
            ended = subprocess.run(inside, cwd=folder, env=environment, stdout=out, stderr=out, check=False).returncode
        wall = time.perf_counter() - start
        used = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    if ended not in (0, 1):  # 1: something was missed
        sys.exit(f"pytest ended with {ended}:\n{(folder / 'out.txt').read_text()[-2000:]}")
    return Took(wall, int(used["usage_usec"]) / 1e6)


def verdicts(report: Path) -> dict[tuple[str, str, str], bool | None]:
    """Return by instance, reviewer and comment whether it was caught, as a record of recorded results says it."""
    known = {Verdict.CAUGHT: True, Verdict.MISSED: False}
    return {
        (trial.instance, trial.reviewer, result.comment): known.get(result.verdict)
        for trial in read_trials(report / "trials.jsonl")
        for result in trial.results
    }


def recorded(place: Path) -> dict[tuple[str, str, str], bool]:
    """Return those verdicts that are on record, in the same form."""
    return {
        (file.stem, file.parent.name, comment): verdict
        for file in sorted(place.glob("*/*.json"))
        for comment, verdict in json.loads(file.read_text())["verdicts"].items()
        if verdict is not None
    }


def judged(folder: Path, place: Path) -> Took:
    """Judge all recorded revisions of a set again, and say which verdict is not the recorded one. Raises SystemExit."""
    for step in ("verdict", "explanation"):
        shutil.rmtree(folder / "store" / "steps" / step, ignore_errors=True)
    reviewers = sorted(each.name for each in (place / FOLDER).iterdir())
    asked = [f"--reviewer={name}" for name in reviewers]
    folders = [str(file.parent) for file in sorted(place.glob(f"*/{FILE}"))]
    own = [f"--crab-store={folder / 'store'}", f"--crab-report={folder / 'report'}"]
    took = run(folder, [*asked, "--agent=replay", "--crab-jobs=2", *own, *folders])
    known, found = recorded(place / FOLDER), verdicts(folder / "report")
    for key in sorted(known):
        if found.get(key) is not known[key]:
            print(f"{' '.join(key)}: {found.get(key)}, recorded is {known[key]}")
    return took


def main() -> int:
    """Measure and print; 1 if it takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", type=Path, metavar="SET", help="a certified set with recorded revisions")
    parser.add_argument("--runs", type=int, default=3, help="judge them so many times (default: 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crab-rejudge-") as name:
        folder = Path(name)
        place = folder / "set" if options.set is None else options.set.resolve()
        if options.set is None:
            write_set(place)
        first = judged(folder, place)
        again = [judged(folder, place) for _ in range(options.runs)]
        trials = len({key[:2] for key in verdicts(folder / "report")})
    print(f"{trials} revisions, proofs to be made: {first.wall:.0f} s, {first.processor:.0f} of the processor")
    wall, processor = ([getattr(each, clock) for each in again] for clock in ("wall", "processor"))
    good = statistics.median(wall) <= BUDGET
    tell("rejudge.wall", middle(wall), good=good)
    tell("rejudge.processor", middle(processor), good=statistics.median(processor) <= 2 * BUDGET)
    tell("rejudge.each", middle([1000 * each / trials for each in processor], 0))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
