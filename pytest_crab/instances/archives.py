"""Reads the files of a release, bounded and one at a time: each fault is one sentence."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_first
from pytest_crab.types import INSTANCE_ID

T = TypeVar("T")

#: What one file of an archive may come to when unpacked, and all of them together.
MOST_BYTES = 8 << 20
MOST_TOTAL = 1 << 30
MOST_FILES = 100_000

#: One line of a JSON lines file; the longest known one has 1.6 MB, nearly all of it a patch.
MOST_BYTES_PER_LINE = 16 << 20

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)


def results(place: Path, cls: type[T]) -> Iterator[tuple[str, T]]:
    """Yield (instance id, record) for every <instance id>/result.json in ``place``, a zip or a folder, sorted by id.

    Keys that no record has are passed over. When all are read, raises BadInput with a sentence for each that is
    damaged, of another shape, too large or there twice; at once if the archive cannot be opened.
    """
    problems: list[str] = []
    seen: dict[str, str] = {}
    for member, content in _contents(place, problems):
        name = PurePosixPath(member).parent.name
        record = read_record(content, cls, problems, member)
        if record is None:
            continue
        if getattr(record, "instance_id", None) != name or not INSTANCE_ID.fullmatch(name):
            problems.append(f"{member}: instance_id should be the name of its folder")
        elif name.lower() in seen:
            problems.append(f"{member}: {name} is there twice, also as {seen[name.lower()]}; one should go")
        else:
            seen[name.lower()] = member
            yield name, record
    if problems:
        raise BadInput(str(place), problems)


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a JSON lines file that are not blank, with their numbers from 1; one is held at a time.

    Raises BadInput for a file that cannot be read, and for a line that is longer than MOST_BYTES_PER_LINE.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES_PER_LINE + 1), b""), 1):
                if len(line) > MOST_BYTES_PER_LINE:
                    raise BadInput(str(path), [f"line {number} is longer than {MOST_BYTES_PER_LINE >> 20} MiB"])
                if line.strip():
                    yield number, line
    except OSError as error:
        raise BadInput(str(path), [f"it cannot be read ({error.strerror})"]) from None


def as_it_is(data: object) -> object:
    """Return the data of a record."""
    return data


def json_records(
    path: Path, cls: type[T], problems: list[str], shape: Callable[[object], object] = as_it_is
) -> Iterator[tuple[int, bytes, T]]:
    """Yield number, line and record of each line of a JSON lines file that holds one.

    ``shape`` takes a line's data, and returns what the record is read of. A sentence on every other line is appended
    to ``problems``. Raises BadInput as ``json_lines`` does.
    """
    for number, line in json_lines(path):
        record = read_record(line, cls, problems, f"line {number}", shape)
        if record is not None:
            yield number, line, record


def read_file(path: Path, cls: type[T], problems: list[str], where: str) -> T | None:
    """The record that a file holds; if it holds none, one sentence that starts with ``where`` is appended."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES_PER_LINE + 1)
    except OSError as error:
        problems.append(f"{where}: it cannot be read ({error.strerror})")
        return None
    if len(content) > MOST_BYTES_PER_LINE:
        problems.append(f"{where}: it is larger than {MOST_BYTES_PER_LINE >> 20} MiB")
        return None
    return read_record(content, cls, problems, where)


def read_record(
    content: bytes,
    cls: type[T],
    problems: list[str],
    where: str,
    shape: Callable[[object], object] = as_it_is,
) -> T | None:
    """The record that one JSON text holds; if it holds none, one sentence that starts with ``where`` is appended."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        problems.append(f"{where}: it is no JSON ({error})")
        return None
    return to_record(shape(data), cls, problems, where)


def to_record(data: object, cls: type[T], problems: list[str], where: str) -> T | None:
    """The record that a JSON value is; if it is none, one sentence that starts with ``where`` is appended."""
    faults: list[str] = []
    record = serialization.read(cls, serialization.without_others(cls, data), faults)
    if record is not None and _half_pair(record):
        faults.append("a text holds half a surrogate pair, which is no text")
    if faults:
        problems.append(f"{where}: {format_first(faults)}")
        return None
    return record


def _half_pair(value: Any) -> bool:
    """Return whether a text in ``value`` cannot be written as UTF-8; bytes that git could not decode can."""
    if isinstance(value, str):
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return True
        return False
    if isinstance(value, Mapping):
        return any(map(_half_pair, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_half_pair, value))
    if dataclasses.is_dataclass(value):
        return any(_half_pair(getattr(value, field.name)) for field in dataclasses.fields(value))
    return False


def _contents(place: Path, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    if place.is_dir():
        yield from _from_folder(place, problems)
        return
    try:
        archive = zipfile.ZipFile(place)
    except _DAMAGE as error:
        raise BadInput(str(place), [f"it cannot be opened as a zip ({error}); is it damaged?"]) from None
    with archive:
        yield from _from_zip(archive, place, problems)


def _from_folder(place: Path, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    total = _Total(place)
    for folder, folders, files in os.walk(place):
        folders.sort()
        if "result.json" not in files:
            continue
        path = Path(folder, "result.json")
        member = path.relative_to(place).as_posix()
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            problems.append(f"{member}: it cannot be read ({error.strerror})")
            continue
        if total.takes(member, len(content), problems):
            yield member, content


def _from_zip(archive: zipfile.ZipFile, place: Path, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    infos = sorted(archive.infolist(), key=lambda info: info.filename)
    if len(infos) > MOST_FILES:
        raise BadInput(str(place), [f"it holds {len(infos)} files; at most {MOST_FILES} are read"])
    total = _Total(place)
    for info in infos:
        path = PurePosixPath(info.filename)
        if path.name != "result.json" or info.is_dir() or "__MACOSX" in path.parts:
            continue
        try:
            with archive.open(info) as file:
                content = file.read(MOST_BYTES + 1)  # what the archive says of its sizes may be wrong
        except _DAMAGE as error:
            problems.append(f"{info.filename}: it cannot be unpacked ({error}); is the archive damaged?")
            continue
        if total.takes(info.filename, len(content), problems):
            yield info.filename, content


class _Total:
    """Counts what was read of one archive. Raises BadInput where it becomes more than a release could hold."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._bytes = 0

    def takes(self, member: str, size: int, problems: list[str]) -> bool:
        """Count one file; a file that is too large is a problem of its own."""
        self._bytes += size
        if self._bytes > MOST_TOTAL:
            raise BadInput(str(self._place), [f"its result files are more than {MOST_TOTAL >> 20} MiB unpacked"])
        if size > MOST_BYTES:
            problems.append(f"{member}: it is more than {MOST_BYTES >> 20} MiB unpacked")
        return size <= MOST_BYTES


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn what reading a release of another shape raises into BadInput."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {str(error)[:80]}"
        raise BadInput(str(folder), [f"it is no release of this shape ({what}); fetch it again"]) from error
    except OSError as error:
        raise BadInput(str(error.filename), [f"it cannot be read ({error.strerror})"]) from error


def load(path: Path) -> Any:
    """Return the JSON in a file. Raises BadInput, OSError."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(str(path), [f"it is no JSON ({error}); fetch it again"]) from error


def digest_of(paths: Iterable[Path]) -> str:
    """Return the digest that names a version of these files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]
