"""The report's files: trials.jsonl, written while a run goes on, and summary.json."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pytest_crab import serialization
from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.errors import BadInput
from pytest_crab.results.oracle_table import with_table, without_table
from pytest_crab.results.summary import Summary
from pytest_crab.types import Trial, Unit, Verdict

T = TypeVar("T")


class OtherSchema(BadInput):
    """Another version wrote a record; ``data`` is what it holds."""

    def __init__(self, where: str, data: Mapping[str, Any], known: int) -> None:
        super().__init__(where, [f"schema {data['schema']!r} is not known here; this version reads {known}"])
        self.data = data


class TrialLog(AbstractContextManager["TrialLog"]):
    """A trials.jsonl, or another file of records, one a line, that grows; each is written before ``append`` returns.

    It replaces the file. Use it as a context, from one thread. Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = _made_anew(path)

    def append(self, record: object) -> None:
        """Add one record, or nothing of it. Raises OSError."""
        end = self._file.tell()
        rest = memoryview(_line(record))
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(end)
            self._file.seek(end)
            raise

    def close(self) -> None:
        """Make the records durable and close the file; a second call does nothing."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def write_records(path: Path, records: Iterable[object]) -> None:
    """Write all records at once; whoever reads sees the old file or the whole new one. Raises OSError."""
    write_report_file(path, map(_line, records))


def write_trials(path: Path, trials: Iterable[Trial]) -> None:
    """Write a trials.jsonl, as ``write_records`` does."""
    write_records(path, trials)


def read_records(path: Path, cls: type[T]) -> Iterator[T]:
    """Yield the records of a file with one a line, one at a time.

    A half-written last line, as a killed run leaves it, is dropped; any other fault raises BadInput with file and line.
    """
    for _, record in _locate(path, cls):
        yield record


def read_trials(path: Path) -> Iterator[Trial]:
    """Yield the records of a trials.jsonl, as ``read_records`` does."""
    return read_records(path, Trial)


def locate_trials(path: Path) -> Iterator[tuple[int, Trial]]:
    """Yield the records of a trials.jsonl as ``read_trials`` does, each with the byte that its line starts at."""
    return _locate(path, Trial)


def _locate(path: Path, cls: type[T]) -> Iterator[tuple[int, T]]:
    start = 0
    for at, line in enumerate(_lines(path), start=1):
        where = f"{path}:{at}"
        value = _load(line, where, last=not line.endswith(b"\n"))
        if value is not None:
            yield start, _record(cls, value, where)
        start += len(line)


def read_record(line: bytes, where: str) -> Trial:
    """Return the record of one whole line of a trials.jsonl. Raises BadInput, which names ``where``."""
    return _record(Trial, _load(line, where, last=False), where)


def copy_trials(path: Path, places: Iterable[tuple[Path, int]]) -> None:
    """Write the records at these places (file, byte) to ``path``, in this order, holding one at a time.

    Whoever reads sees the old file or the whole new one. Raises OSError.
    """
    write_report_file(path, _read_lines_at(places))


def write_summary(path: Path, summary: Summary) -> None:
    """Write summary.json: whoever reads sees the old file or the whole new one. Raises OSError."""
    write_data(path, with_table(summary))


def write_data(path: Path, record: object) -> None:
    """Write a record as JSON: whoever reads sees the old file or the whole new one. Raises OSError."""
    write_report_file(path, map(str.encode, itertools.chain(_laid_out(record), ["\n"])))


def read_summary(path: Path) -> Summary:
    """Return what a summary.json holds. Raises BadInput, which is OtherSchema for one of another version."""
    return read_data(path, Summary)


def read_data(path: Path, cls: type[T]) -> T:
    """Return the record that a file holds as JSON. Raises BadInput."""
    return _record(cls, _load(b"".join(_lines(path)), str(path), last=False), str(path))


def write_report_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Replace a file of a report in one step, and make its folder where it is missing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, chunks, SHARED)


_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode
#: What holds a few nested parts is one line of at most so many characters: an oracle with its labels, or a rate.
_FEW, _SHORT = 4, 400


def _laid_out(record: object, margin: str = "\n") -> Iterator[str]:
    """Yield JSON with a line for whatever is flat, or short: json's own indent is slow, and longer to read.

    No more of a record than such a line is plain data at a time.
    """
    value = serialization.unfold(record)
    line = _one_line(value)
    if line is not None:
        yield line
        return
    inner = f"{margin}  "
    lead, end = "{}" if isinstance(value, dict) else "[]"
    for item in value:
        text = f"{lead}{inner}{_encode(item)}: " if isinstance(value, dict) else f"{lead}{inner}"
        part = serialization.unfold(value[item] if isinstance(value, dict) else item)
        line = _one_line(part)
        if line is None:
            yield text
            yield from _laid_out(part, inner)
        else:
            yield text + line
        lead = ","
    yield f"{margin}{end}"


def _one_line(value: object) -> str | None:
    """Return the JSON of unfolded data; None if what it holds is nested itself, or nested and not short."""
    parts = _parts(value)
    if serialization.is_plain(parts):
        return _encode(value)
    nested = [part for part in map(serialization.unfold, parts) if _parts(part)]
    if not nested:
        return _encode(serialization.dump(value))
    if len(nested) > _FEW or any(_parts(serialization.unfold(one)) for part in nested for one in _parts(part)):
        return None
    line = _encode(serialization.dump(value))
    return line if len(line) <= _SHORT else None


def _parts(value: object) -> Collection[object]:
    """Return what unfolded data holds."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _made_anew(path: Path) -> BinaryIO:
    """A file that no other process has open: another run may still write to the one before."""
    while True:
        path.unlink(missing_ok=True)
        try:
            return path.open("xb", buffering=0)
        except FileExistsError:  # another was faster, and is replaced
            continue


def _line(record: object) -> bytes:
    return serialization.canonical(record).encode() + b"\n"


def _read_lines_at(places: Iterable[tuple[Path, int]]) -> Iterator[bytes]:
    with ExitStack() as stack:
        opened: dict[Path, BinaryIO] = {}
        for path, start in places:
            if path not in opened:
                opened[path] = stack.enter_context(path.open("rb"))
            opened[path].seek(start)
            yield opened[path].readline().rstrip(b"\n") + b"\n"


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error


def _load(line: bytes, where: str, *, last: bool) -> object:
    """Return the JSON value of a line; None for a last line that ends in the middle."""
    try:
        return _decode(line.decode(json.detect_encoding(line), "surrogatepass"))
    except RecursionError:
        raise BadInput(where, ["is nested too deeply to be a record"]) from None
    except ValueError as error:
        if last:
            return None
        raise BadInput(where, [f"is not JSON: {error}"]) from error


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is no number")


#: Made once: ``json.loads`` makes a decoder for each call that has options.
_decode = json.JSONDecoder(parse_constant=_no_number).decode


def _record(cls: type[T], value: object, where: str) -> T:
    known = cls.__dataclass_fields__["schema"].default  # type: ignore[attr-defined]  # each record has its version
    if isinstance(value, dict) and value.get("schema", known) != known:
        raise OtherSchema(where, value, known)
    if cls is Summary:
        value = without_table(value, where)
    problems: list[str] = []
    record = serialization.read(cls, value, problems)
    if isinstance(record, Trial):
        problems = list(_contradictions(record))
    if record is None or problems:
        raise BadInput(where, problems)
    return record


def _contradictions(trial: Trial) -> Iterator[str]:
    """Yield a sentence for each verdict that its reason contradicts, or that no comment of the trial has."""
    known = {comment.id for comment in trial.comments}
    for at, score in enumerate(trial.scores):
        if score.unit is not Unit.COMMENT:
            continue
        if score.subject not in known:
            yield f"scores[{at}].subject is {score.subject}, which is no comment of the trial"
        if score.label in _OPPOSED and score.label != score.reason.verdict:
            yield f"scores[{at}].label is {score.label}, but {score.reason} means {score.reason.verdict}"


#: Labels that a reason can contradict.
_OPPOSED = (Verdict.CAUGHT, Verdict.MISSED)
