"""Reads the rows of a release, and writes a set in one go: aside, read back, then renamed; nothing is half there."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pytest_crab.errors import BadInput
from pytest_crab.instances import FILE, load_instance
from pytest_crab.instances.archives import as_it_is, json_records
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.types import INSTANCE_ID, Instance

R = TypeVar("R")
T = TypeVar("T")

#: What stands for a text that a release does not state.
MISSING = "(not in the release)"

#: What SPDX says where a licence is not stated: releases do not.
LICENSE = "NOASSERTION"


@dataclass(slots=True)
class Import:
    """Counts of an import."""

    instances: int = 0
    comments: int = 0
    #: A sentence for each row that is not in the set.
    notes: list[str] = field(default_factory=list)

    def counts(self) -> str:
        """Return what was imported, as one line."""
        return f"{self.instances} instances, {self.comments} comments, no oracles"

    def details(self) -> Iterable[str]:
        """Return further lines on what was imported."""
        return ()

    def all_notes(self) -> list[str]:
        """Return the sentences on what is missing, those on the release as a whole first."""
        return self.notes


def read_lines(path: Path, cls: type[T], key: str, shape: Callable[[object], object] = as_it_is) -> Iterator[T]:
    """Yield the records of a JSON lines file, one held at a time; their field ``key`` is an instance's id.

    ``shape`` is as for ``json_records``.

    After the last, raises BadInput with a sentence for each line that is none, and for each id that is there twice.
    """
    problems: list[str] = []
    seen: dict[str, int] = {}
    for number, _, row in json_records(path, cls, problems, shape):
        name = str(getattr(row, key))
        if not INSTANCE_ID.fullmatch(name):
            problems.append(f"line {number}: {key} is {name[:60]!r}; it should be such as owner__name-7@1a2b3c4")
        elif (first := seen.setdefault(name.lower(), number)) != number:
            problems.append(f"line {number}: {name} is also on line {first}; one should go")
        else:
            yield row
    if problems:
        raise BadInput(str(path), problems)


def language_name(stated: str) -> str:
    """Return the name of a language that a release states, as instances have it: in small letters and one word."""
    return re.sub(r"\s+", "-", stated.strip().lower())


def import_rows(
    file: Path,
    out: Path,
    rows: Iterable[tuple[str, R]],
    to_instance: Callable[[R, Path], Instance],
    *,
    only: re.Pattern[str] | None = None,
    files: Callable[[R], Mapping[str, str]] = lambda _row: {},
    beside: Mapping[str, str] = MappingProxyType({}),
) -> Import:
    """Write the rows of ``file``, each with its instance's id, as a set without oracles into the new folder ``out``.

    ``to_instance`` takes a row and the instance's folder; its ValueError is a note, and the row is left out. ``files``
    returns the texts of the files that the instance names, and ``beside`` has those of the set itself. Raises BadInput
    where no row is left, and what ``rows`` raises; then nothing is written.
    """
    done = Import()
    with new_set(out) as aside:
        for name, text in beside.items():
            (aside / name).write_text(text, "utf-8")
        for name, row in rows:
            if only is None or only.search(name):
                _write_row(name, aside / name, to_instance, files, row, done)
        if not done.instances:
            wanted = f" whose id has {only.pattern}" if only else ""
            raise BadInput(str(file), [f"it has no row{wanted} that can be imported", *done.notes])
    return done


def _write_row(
    name: str,
    folder: Path,
    to_instance: Callable[[R, Path], Instance],
    files: Callable[[R], Mapping[str, str]],
    row: R,
    done: Import,
) -> None:
    try:
        instance = to_instance(row, folder)
        problem = write_instance(folder, instance, files(row))
    except ValueError as error:
        problem = str(error)
    if problem:
        done.notes.append(f"{name}: not imported: {problem}")
        return
    done.instances += 1
    done.comments += len(instance.comments)


def require_new(out: Path) -> None:
    """Raise BadInput where there is something already."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        problem = "there is something already; name a new folder, since what was done to it since would be undone"
        raise BadInput(str(out), [problem])


@contextmanager
def new_set(out: Path) -> Iterator[Path]:
    """A folder to write a set into, which becomes ``out`` at the end; ``out`` must not be there, or be empty.

    Raises BadInput where there is something already, or where nothing can be written.
    """
    require_new(out)
    place = out.absolute()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            yield aside
            aside.chmod(0o755)
            aside.rename(place)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    except OSError as error:
        raise BadInput(str(out), [f"it cannot be written ({error.strerror}); is there room and permission?"]) from error


def write_instance(folder: Path, instance: Instance, files: Mapping[str, str]) -> str | None:
    """Write an instance and its oracles into ``folder``, its own; None, or the sentence that says why it is not there.

    What the loader would refuse is taken away again.
    """
    try:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text.encode())
        (folder / FILE).write_bytes(instance_yaml(instance).encode())
        load_instance(folder)
    except UnicodeEncodeError:
        problem = "a text holds half a surrogate pair, which is no text"
    except BadInput as error:
        problem = "; ".join(error.problems)
    else:
        return None
    shutil.rmtree(folder)
    return problem
