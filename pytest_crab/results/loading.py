"""Loading the results of an earlier run from a summary, a report's folder, a store, or a trials.jsonl."""

from __future__ import annotations

from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_summary, read_trials
from pytest_crab.results.summary import Summary, summarise

SUMMARY, TRIALS = "summary.json", "trials.jsonl"


def load_summary(path: Path) -> Summary:
    """Return the summary of an earlier run, with every oracle's verdicts.

    ``path`` is a summary.json, a trials.jsonl, a folder that holds one, or a store. Raises BadInput.
    """
    file = _file(path)
    return summarise(read_trials(file)) if file.suffix == ".jsonl" else read_summary(file)


def trials_file(path: Path) -> Path:
    """The trials.jsonl of a report's folder, a store, or the file itself. Raises BadInput if there is none."""
    return report_file(path, TRIALS)


def report_file(path: Path, name: str) -> Path:
    """The file of this name of a report's folder or a store, or the file itself. Raises BadInput if there is none."""
    found = path if path.is_file() else find_file(path, name)
    if found is None:
        raise BadInput(str(path), [f"there is no {name}; name a report's folder, a store, or the file"])
    return found


def find_file(path: Path, name: str) -> Path | None:
    """The file of this name that ``path`` is, or that a report's folder or a store at ``path`` has; None if none is."""
    places = [path] if path.name == name else [path / name, path / "report" / name]
    return next((place for place in places if place.is_file()), None)


def _file(path: Path) -> Path:
    places = [path] if path.is_file() else [folder / name for folder in (path, path / "report") for name in _NAMES]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise BadInput(
            str(path), [f"there is no {SUMMARY} and no {TRIALS}; name a report's folder, a store, or a file"]
        )
    return found


_NAMES = (SUMMARY, TRIALS)
