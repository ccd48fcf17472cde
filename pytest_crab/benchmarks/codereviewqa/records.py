"""Records of probes: what an answerer answered to the questions on one row, in probes.jsonl beside the report."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.results.files import write_report_file
from pytest_crab.types import StepRecord, StrEnum, TrialId, Usage, Verdict

#: The version of a record, and its file beside a report.
SCHEMA, FILE = 1, "probes.jsonl"


class ProbeReason(StrEnum):
    """The reason of a probe's verdict; each belongs to exactly one verdict."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    LIMIT = "over the trial's budget"
    NO_ANSWER = "no answer"
    ANSWERER_ERROR = "answerer error"
    BROKEN = "broken"
    NOT_RUN = "not run"

    @property
    def verdict(self) -> Verdict:
        """The verdict that this reason stands for."""
        if self is ProbeReason.CORRECT:
            return Verdict.CAUGHT
        return Verdict.MISSED if self in (ProbeReason.INCORRECT, ProbeReason.LIMIT) else Verdict.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The result of one probe of a row."""

    probe: str
    reason: ProbeReason
    #: One sentence for people.
    detail: str | None = None
    #: The letters that were chosen, in the order of the questions; NO_LETTER for no answer, empty where none was asked.
    letters: str = ""

    @property
    def verdict(self) -> Verdict:
        """Its verdict."""
        return self.reason.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRecord:
    """The answers of one answerer to the probes of one instance in one repeat."""

    instance: str
    repo: str
    answerer: str
    schema: int = SCHEMA
    repeat: int = 1
    #: The labels of the comment, such as its language.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The way of answering, since two ways are two measures; None: nothing was asked.
    measure: str | None = None
    results: tuple[ProbeResult, ...] = ()
    #: Why a probe has no verdict, in one sentence.
    error: str | None = None
    #: The word that the client of a model ended with, if it failed.
    status: str | None = None
    #: Why nothing was asked, though nothing failed.
    skipped: str | None = None
    steps: tuple[StepRecord, ...] = ()
    seconds: float = 0.0
    started: str | None = None
    #: How many answers there are to a probe's questions, and what they used, stored ones too.
    answers: int = 0
    usage: Usage | None = None
    #: US dollars of the answers that were given in this run; None: none was, or no cost is known.
    paid_usd: float | None = None
    #: What attempts used that came to nothing.
    failed: Usage | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)
    #: The keys of its transcripts in the store.
    transcripts: tuple[str, ...] = ()

    @property
    def id(self) -> TrialId:
        """The name of the record."""
        return TrialId(self.instance, self.answerer, self.repeat)

    def having(self, verdict: Verdict) -> tuple[ProbeResult, ...]:
        """The results with this verdict."""
        return tuple(result for result in self.results if result.verdict is verdict)


def write_records(path: Path, records: Iterable[ProbeRecord]) -> None:
    """Write all records at once. Raises OSError."""
    write_report_file(path, (line_of(record) for record in records))


def read_records(path: Path) -> Iterator[ProbeRecord]:
    """Yield the records of a file; of one name the last. A half-written last line is left out. Raises BadInput."""
    found: dict[TrialId, ProbeRecord] = {}
    try:
        lines = io.BytesIO(path.read_bytes()).readlines()
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error
    for number, line in enumerate(lines, start=1):
        if record := _record(line, f"{path}:{number}"):
            found[record.id] = record
    yield from found.values()


def _record(line: bytes, where: str) -> ProbeRecord | None:
    try:
        value = json.loads(line)
    except ValueError as error:
        if not line.endswith(b"\n"):
            return None
        raise BadInput(where, [f"is not JSON: {error}"]) from error
    problems: list[str] = []
    record = serialization.read(ProbeRecord, value, problems)
    if record is None or problems:
        raise BadInput(where, problems)
    if record.schema != SCHEMA:
        raise BadInput(where, [f"schema {record.schema!r} is not known here; this version reads {SCHEMA}"])
    return record


def line_of(record: ProbeRecord) -> bytes:
    """Return the record as a line of the file."""
    return serialization.canonical(record).encode() + b"\n"
