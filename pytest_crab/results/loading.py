"""Loading the results of an earlier run from a summary, a report's folder, a store, or a trials.jsonl."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Set as AbstractSet
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances import FILE
from pytest_crab.results.files import OtherSchema, read_summary, read_trials
from pytest_crab.results.kept_runs import SHOWN, kept_runs, shown_run
from pytest_crab.results.summary import Summary, summarise

SUMMARY, TRIALS = "summary.json", "trials.jsonl"


def load_summary(path: Path) -> Summary:
    """Return the summary of an earlier run, with every oracle's verdicts.

    ``path`` is a summary.json, a trials.jsonl, a folder that holds one, or a store. Where another version wrote the
    summary, the trials beside it are summed up. Raises BadInput.
    """
    file = _file(path)
    if file.suffix == ".jsonl":
        return summarise(read_trials(file))
    try:
        return read_summary(file)
    except OtherSchema as other:
        trials = file.with_name(TRIALS)
        if file.name == SUMMARY and trials.is_file():
            return _summed_up(trials, other)
        remedy = f"make it anew, by another run or with `pytest-crab report DIR` of the folder that has its {TRIALS}"
        raise BadInput(other.where, [f"{other.problems[0]}: {remedy}"]) from None


def trials_file(path: Path) -> Path:
    """The trials.jsonl of a report's folder, a store, or the file itself. Raises BadInput if there is none."""
    return report_file(path, TRIALS)


def report_file(path: Path, name: str) -> Path:
    """The file of this name of a report's folder or a store, or the file itself. Raises BadInput if there is none."""
    found = path if path.is_file() else find_file(path, name)
    if found is None:
        raise BadInput(str(path), [f"there is no {name}; name a report's folder, a store, or the file"])
    return found


def last_comparable(store: Path) -> tuple[Path, Path]:
    """Return the last whole run that a store keeps, and before it the one of the same oracles that came before.

    Where the last has none, the run before it is tried, and so on; runs that cannot be read are passed over. Raises
    BadInput where no two are of the same.
    """
    found: list[tuple[Path, Summary]] = []
    for folder in reversed(kept_runs(store)):
        if (folder / SUMMARY).is_file():
            try:
                summary = load_summary(folder)
            except BadInput:  # of another version
                continue
            if summary.is_complete and summary.measured:
                found.append((folder, summary))
    for at, (after, summary) in enumerate(found):
        for before, earlier in found[at + 1 :]:
            if earlier.measured == summary.measured:
                return before, after
    raise BadInput(str(store), ["it keeps no two whole runs of the same oracles; name the runs to compare"])


def lacks_beside_shown(store: Path, instances: AbstractSet[str], sets: Collection[Path], *, is_complete: bool) -> str:
    """Return what a run lacks beside the one that a store shows; empty if it takes its place.

    A run that was ended early, or has a part of the instances though its ``sets`` still have the others, never takes
    the place of a whole one; where the run shown cannot be read, any does.
    """
    try:
        before = load_summary(store / SHOWN)
    except BadInput:
        return ""
    if before.is_complete and not is_complete:
        return "was ended early"
    known = before.instances
    left = known - instances
    if instances < known and any((folder / name / FILE).is_file() for folder in sets for name in left):
        return f"has {len(instances)} of its {len(known)} pull requests"
    return ""


def find_file(path: Path, name: str) -> Path | None:
    """The file of this name that ``path`` is, or that a report's folder or a store at ``path`` has; None if none is."""
    places = [path] if path.name == name else [folder / name for folder in _folders(path)]
    return next((place for place in places if place.is_file()), None)


def _summed_up(trials: Path, other: OtherSchema) -> Summary:
    """Return the summary of these trials, with what only the other version's has. Raises BadInput."""
    problems: list[str] = []
    own = {name: other.data[name] for name in ("errors_as_misses", "shard", "gate") if name in other.data}
    known = serialization.read(Summary, own, problems)
    if known is None:
        raise BadInput(other.where, problems)
    summary = summarise(read_trials(trials), errors_as_misses=known.errors_as_misses)
    return dataclasses.replace(summary, shard=known.shard, gate=known.gate)


def _file(path: Path) -> Path:
    places = [path] if path.is_file() else [folder / name for folder in _folders(path) for name in _NAMES]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise BadInput(
            str(path), [f"there is no {SUMMARY} and no {TRIALS}; name a report's folder, a store, or a file"]
        )
    return found


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder, and the one of the report if it is a store."""
    yield path
    shown = shown_run(path)
    if shown is not None:
        yield shown


_NAMES = (SUMMARY, TRIALS)
