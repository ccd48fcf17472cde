"""The runs that a store keeps: each has a folder of its own, and a link shows the newest that measured all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from pytest_crab.errors import SourceError
from pytest_crab.results.run_progress import read_run

#: The folder of the runs in a store, and the link to the one that is shown.
RUNS, SHOWN = "runs", "report"

#: The most characters of a run's folder that come from names of reviewers or of an experiment.
_LONGEST = 40


def new_run(store: Path, *words: str) -> Path:
    """Return the folder for a run that begins now, named by the time in UTC and by these words; nothing is written."""
    named = "-".join(filter(None, (re.sub(r"[^\w.+]+", "-", word)[:_LONGEST].strip("-.") for word in words)))
    while True:
        now = datetime.now(timezone.utc)
        stamp = f"{now:%Y%m%d-%H%M%S}.{now.microsecond // 1000:03}"
        folder = store / RUNS / "-".join(filter(None, (stamp, named)))
        if not folder.exists():
            return folder


def commit_of(project: Path) -> str:
    """Return the short name of the commit that is checked out in a folder; empty outside of a repository."""
    from pytest_crab.sources.git_cli import run  # imports GitPython, which no reader of a report needs

    try:
        return run(["rev-parse", "--short", "HEAD"], cwd=project, env=os.environ).decode().strip()
    except SourceError:
        return ""


def kept_runs(store: Path) -> list[Path]:
    """Return the folders of the store's runs, those under way and killed ones included, the oldest first."""
    folder = store / RUNS
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [run for run in found if run.is_dir() and any(run.iterdir())]


def shown_run(store: Path) -> Path | None:
    """Return the folder of the run that a store shows: where no link says it, the newest; None: there is none."""
    shown = store / SHOWN
    return shown if shown.is_dir() else next(reversed(kept_runs(store)), None)


def named_report(report: Path) -> Path | None:
    """Return what commands have to be told of a report's place; None: it is in this folder's store, as by default."""
    return None if report.absolute().is_relative_to(Path(".crab").absolute()) else report


def show_run(store: Path, run: Path) -> None:
    """Let the store's link lead to this one of its runs, in one step; a folder in its place becomes a kept run.

    Raises OSError, on file systems without links too.
    """
    shown = store / SHOWN
    aside = store / f".{SHOWN}.{os.urandom(6).hex()}"
    aside.symlink_to(Path(RUNS, run.name))
    try:
        if shown.is_dir() and not shown.is_symlink():
            shown.rename(new_run(store, SHOWN))
        aside.replace(shown)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def old_runs(store: Path, before: float) -> Iterator[Path]:
    """Yield the runs that ended before a time in seconds since the epoch, but for the one that is shown."""
    shown = shown_run(store)
    for folder in kept_runs(store):
        run = read_run(folder)
        is_alive = run is not None and run.is_alive
        if not is_alive and folder.stat().st_mtime < before and (shown is None or not folder.samefile(shown)):
            yield folder
