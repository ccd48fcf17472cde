"""The lookup of instances and trials that the command line names: by path, by id, or by the start of an id."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.instances import FILE, find_instances, load_instance
from pytest_crab.results.files import read_trials
from pytest_crab.results.kept_runs import SHOWN, kept_runs
from pytest_crab.text import one_line
from pytest_crab.types import Instance, Trial, TrialId

_SHOWN = 5


def instance_files(names: Sequence[str]) -> list[Path]:
    """The instance files that are meant, each once: at or below a path, or by id below the current folder.

    Raises click.UsageError for a name that stands for nothing or for several.
    """
    return list(dict.fromkeys(file for name in names for file in _files(name)))


def one_instance(name: str) -> Instance:
    """Return the instance that a name means. Raises click's errors for a name of none, and for a file with faults."""
    files = instance_files([name])
    if len(files) > 1:
        raise click.UsageError(f"{name} holds {len(files)} instances; name one of them, as in {files[0].parent.name}")
    return load_instance(files[0])


def find_trials(name: str, report: Path | None, store: Path) -> tuple[Path, list[Trial]]:
    """A report and those of its trials that a name stands for; without a ``report``, the last in the store with some.

    Raises click's errors as ``named_trials`` does.
    """
    failed: click.ClickException | None = None
    for place in [*reversed(kept_runs(store)), store / SHOWN] if report is None else [report]:
        try:
            return place, named_trials(name, place)
        except click.UsageError:
            raise
        except click.ClickException as error:
            failed = failed or error
    assert failed is not None
    raise failed


def named_trials(name: str, report: Path) -> list[Trial]:
    """The trials of a report's folder, or of its trials.jsonl, that INSTANCE::REVIEWER[N] stands for.

    The start of an instance's id will do; without a reviewer or a number all of them are meant. Raises click's errors
    for a name that stands for none, or for several instances.
    """
    path, _, contestant = name.replace(f"/{FILE}", "", 1).partition("::")
    instance = path.rpartition("/")[2]
    try:
        wanted = TrialId.parse(f"{instance}::{contestant or '*'}")
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from error
    is_repeat_named = contestant.endswith("]")
    records = report / "trials.jsonl" if report.is_dir() or not report.suffix else report
    if not records.is_file():
        raise click.ClickException(f"{records} is not there; run pytest first, or name a report with --report")
    names: dict[TrialId, None] = {}
    exact: list[Trial] = []
    starting: list[Trial] = []
    for one in read_trials(records):
        names[one.id] = None
        if (contestant and one.reviewer != wanted.reviewer) or (is_repeat_named and one.repeat != wanted.repeat):
            continue
        if one.instance == instance:
            exact.append(one)
        elif one.instance.startswith(instance):
            starting.append(one)
    found = exact or starting
    instances = sorted({one.instance for one in found})
    if len(instances) > 1:
        raise click.UsageError(f"{name} may be a trial of {', '.join(instances[:_SHOWN])}; write more of the id")
    if not found:
        known = list(dict.fromkeys(f"{one.instance}::{one.reviewer}" for one in names))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
        told = f"; there is {', '.join(map(one_line, near))}" if near else ""
        raise click.ClickException(f"{one_line(name)} is not among the {len(names)} trials of {records}{told}")
    return found


def _files(name: str) -> Iterator[Path]:
    path = Path(name)
    if path.exists():
        found = list(find_instances(path))
        if not found:
            raise click.UsageError(f"there is no {FILE} at or below {name}")
        yield from found
        return
    known = list(find_instances(Path())) if "/" not in name else []
    exact = [file for file in known if file.parent.name.lower() == name.lower()]
    starting = [file for file in known if file.parent.name.lower().startswith(name.lower())]
    found = exact or starting
    if len(found) == 1:
        yield found[0]
        return
    if not found:
        raise click.UsageError(f"{name} is neither a path nor the id of an instance below this folder")
    told = ", ".join(str(file.parent) for file in found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
    raise click.UsageError(f"{name} may be {told}; write more of the id, or the path")


def display_path(path: Path) -> str:
    """Return the path as a person would type it in the current folder."""
    relative = os.path.relpath(path)
    return os.path.normpath(path.absolute()) if relative.startswith("..") else relative
