"""The files beside trials.jsonl by which a report's reader follows a run: its plan, and how far it is.

They are there while the run goes on. A run that is killed leaves them behind, and no longer renews the second.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pytest_crab import serialization
from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.campaign.progress import Progress
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_dollars

T = TypeVar("T")

PLAN, PROGRESS = "plan.json", "progress.json"

#: Seconds between two writes, and after so many without one the run is taken for dead.
EVERY, DEAD = 1.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """The plan of a run."""

    #: The names of the trials, in the order in which they are reported.
    trials: tuple[str, ...]
    #: The run's budget in dollars.
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class FollowedRun:
    """A run that has a plan on record."""

    plan: PlannedRun
    progress: Progress
    #: In seconds since the epoch.
    started: float
    #: Whether it goes on.
    is_alive: bool

    @property
    def waiting(self) -> int:
        """The number of trials that have not been started."""
        return max(0, len(self.plan.trials) - self.progress.done - len(self.progress.running))

    def words(self) -> str:
        """Return the state of a run that goes on in one sentence."""
        progress, total = self.progress, len(self.plan.trials)
        counts = f"{progress.done} of {format_count(total, 'trial')} done, {len(progress.running)} running"
        so_far, *left = progress.times(total)
        parts = [f"The run is under way: {counts}, {self.waiting} to come", f"{so_far} so far", *left]
        if progress.cost_usd or self.plan.budget_usd is not None:
            spent = format_dollars(progress.cost_usd or 0.0)
            of = "" if self.plan.budget_usd is None else f" of {format_dollars(self.plan.budget_usd)}"
            parts.append(f"{spent}{of} USD spent")
        return f"{'; '.join(parts)}."


def write_plan(report: Path, plan: PlannedRun) -> None:
    """Write what a run is going to do, and that nothing is done yet. Raises OSError."""
    report.mkdir(parents=True, exist_ok=True)
    _write(report / PLAN, plan)
    write_progress(report, Progress())


def write_progress(report: Path, progress: Progress) -> None:
    """Write how far a run is. Raises OSError."""
    _write(report / PROGRESS, progress)


def remove_progress(report: Path) -> None:
    """Remove the files of a run that has ended."""
    for name in (PROGRESS, PLAN):
        with contextlib.suppress(OSError):
            (report / name).unlink()


def remove_dead_run(report: Path) -> None:
    """Remove the files of a run that was killed; those of one that goes on stay."""
    run = read_run(report)
    if run is None or not run.is_alive:
        remove_progress(report)


def has_plan(report: Path) -> bool:
    """Return whether a run is under way there, or was killed."""
    return (report / PLAN).is_file()


def read_run(report: Path) -> FollowedRun | None:
    """Return the run that writes this report, or that was killed while it did; None: there is none."""
    plan, progress = _read(PlannedRun, report / PLAN), _read(Progress, report / PROGRESS)
    if plan is None or progress is None:
        return None
    try:
        started, renewed = ((report / name).stat().st_mtime for name in (PLAN, PROGRESS))
    except OSError:
        return None
    return FollowedRun(plan, progress, started, time.time() - renewed < DEAD)


def _write(path: Path, record: object) -> None:
    write_atomically(path, serialization.canonical(record).encode(), SHARED, durable=False)


def _read(cls: type[T], path: Path) -> T | None:
    try:
        return serialization.read_file(cls, path)
    except BadInput:
        return None
