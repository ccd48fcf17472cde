"""How far two environments are built beside each other: run with each Python that has pytest-crab installed.

    for python in 3.10 3.11 3.12 3.13; do uv run --python $python --with-editable . bench/prepares.py; done

An instance's install command sleeps, so that the cores have nothing to do with it. The script prepares one, then two at
a time with a thread for each as ``--crab-jobs 2`` has, and prints what the two took over what the one took: 1 where
they overlap, 2 where one waits for the other. Needs bubblewrap, a package index and two free slots.
"""

from __future__ import annotations

import argparse
import dataclasses
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_crab.agents import AGENTS
from pytest_crab.errors import CrabError
from pytest_crab.instances import load_instance
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.trial import Crew, CrewSpec, RunContext
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import Instance

#: What two prepares may take, over one.
BUDGET = 1.35

INSTANCE = Path(__file__).parents[1] / "instances" / "quickstart"


class Prepares:
    """Prepares environments that nobody has prepared before, of one instance."""

    def __init__(self, instance: Instance, run_context: RunContext, seconds: float) -> None:
        here = Path.cwd()
        self._crew = Crew.build(
            CrewSpec(
                reviewer="none",
                reviewer_spec=REVIEWERS.spec("none", {}, here),
                agent="simulated",
                agent_spec=AGENTS.spec("simulated", {}, here),
            )
        )
        self._instance = instance
        self._run_context = run_context
        self._seconds = seconds
        self._made = 0

    def _stage(self) -> TrialContext:
        self._made += 1
        install = (f"sleep {self._seconds}; : {self._made}",)
        environment = dataclasses.replace(self._instance.required_environment, install=install)
        return TrialContext(
            dataclasses.replace(self._instance, environment=environment), self._crew, self._run_context, lambda _: None
        )

    def took(self, at_a_time: int) -> float:
        """The seconds of so many prepares at a time. Raises CrabError."""
        stages = [self._stage() for _ in range(at_a_time)]
        start = time.perf_counter()
        with ThreadPoolExecutor(at_a_time) as pool:
            list(pool.map(lambda stage: stage.image, stages))
        return time.perf_counter() - start


def ratios(runs: int, seconds: float) -> Sequence[float]:
    """What two prepares at a time took over one, so many times. Raises CrabError."""
    instance = load_instance(min(INSTANCE.glob("*/instance.yaml")).parent)
    scratch = tempfile.TemporaryDirectory(prefix="pytest-crab-prepares-")
    with scratch as folder, open_run_context(RuntimeSettings(runtime="local"), Path(folder)) as run_context:
        prepares = Prepares(instance, run_context, seconds)
        prepares.took(1)  # the packages are installed, which all share
        return [prepares.took(2) / prepares.took(1) for _ in range(runs)]


def main() -> int:
    """Measure and print; 1 if the median is above the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="measure so many times (default: 3)")
    parser.add_argument("--seconds", type=float, default=3, help="what an install takes (default: 3)")
    options = parser.parse_args()
    try:
        found = ratios(options.runs, options.seconds)
    except CrabError as error:
        sys.exit(str(error))
    middle = statistics.median(found)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}: two prepares / one: {middle:.2f} ({min(found):.2f} to {max(found):.2f}); budget {BUDGET}")
    return 1 if middle > BUDGET else 0


if __name__ == "__main__":
    sys.exit(main())
