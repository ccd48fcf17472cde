"""Records of probes: what an answerer answered to the questions on one row, in probes.jsonl beside the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.benchmarks.codereviewqa.choice_statistics import chosen_options
from pytest_crab.results import files
from pytest_crab.types import StepRecord, StrEnum, TrialId, Usage, Verdict

#: The version of a record, and its file beside a report.
SCHEMA, FILE = 1, "probes.jsonl"

#: The file of what was asked.
ROWS = "questions.jsonl"


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

    def __post_init__(self) -> None:
        if self.letters:
            chosen_options(self.letters)  # raises ValueError, here rather than where a page or a table is made

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
    #: Whose words the questions were asked in, which decide answers too: "ours" or "release"; None: nothing was asked.
    wording: str | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRow:
    """The questions on one instance, in our words, for people who read the answers."""

    schema: int = SCHEMA
    instance: str
    #: The code with a number before each line.
    code: str
    comment: str
    #: The questions by probe, and their options, the correct one first.
    questions: Mapping[str, str]
    options: Mapping[str, tuple[str, ...]]


def read_rows(report: Path) -> list[AskedRow]:
    """Return what a report's folder has of the questions; nothing where it has no such file. Raises BadInput."""
    path = report / ROWS
    return list(files.read_records(path, AskedRow)) if path.is_file() else []


def read_records(path: Path) -> Iterable[ProbeRecord]:
    """Return the records of a file; of one name the last. A half-written last line is left out. Raises BadInput."""
    return {record.id: record for record in files.read_records(path, ProbeRecord)}.values()
