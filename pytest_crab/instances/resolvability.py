"""resolved.json: which oracles of a set an agent resolves from the human comment; it lies beside crab.lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.set_files import read_set_table, write_set_file
from pytest_crab.types import Instance

#: What the file is called.
FILE = "resolved.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The outcome of one agent at one oracle with the human comment as the only finding (arXiv 2603.23448, 4.2.4)."""

    resolved: bool
    #: The number of times that the agent was asked.
    attempts: int
    #: The digest of what decides the agent's work; the mark holds for these settings alone.
    settings: str
    #: The digest of the instance, likewise.
    instance: str
    date: str
    model: str | None = None
    version: str | None = None
    #: The reason why it failed; None: it did not.
    why: str | None = None


def settings_digest(adapter: str, identity: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> str:
    """The digest of an agent: what it says of itself, else the settings that it was given."""
    return serialization.digest({"adapter": adapter, "identity": settings if identity is None else identity})[:16]


def marks_of(instance: Instance, agent: str) -> dict[str, Mark]:
    """The marks of the agent of this name, by comment. Raises BadInput for a file that is something else."""
    path = Path(instance.folder).parent / FILE
    entries = _read_marks(path).get(agent, {}).get(instance.id, {})
    problems: list[str] = []
    found = {comment: serialization.read(Mark, entry, problems, comment) for comment, entry in entries.items()}
    if problems:
        raise BadInput(str(path), problems)
    return {comment: mark for comment, mark in found.items() if mark is not None}


def write_marks(folder: Path, agent: str, marks: Mapping[str, Mapping[str, Mark]]) -> None:
    """Write marks by instance and comment into the file of the set in ``folder``; all others stay as they are.

    A mark that says what an earlier one said keeps its date, so that the same findings give the same bytes. Raises
    BadInput for a file that is something else.
    """
    path = folder / FILE
    agents = _read_marks(path)
    own = agents.setdefault(agent, {})
    for instance, found in marks.items():
        before = own.get(instance, {})
        own[instance] = {**before, **{name: _entry(mark, before.get(name)) for name, mark in found.items()}}
    write_set_file(path, {"agents": agents})


def _entry(mark: Mark, before: Any) -> dict[str, Any]:
    entry: dict[str, Any] = serialization.dump(mark)
    same = isinstance(before, dict) and {**before, "date": mark.date} == entry
    return dict(before) if same else entry


def _read_marks(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    problem = "the file does not hold marks of this version; move it away and certify again"
    return read_set_table(path, "agents", problem, depth=3)
