"""Scores: one labelled result of one scorer on one comment, finding or trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_crab import serialization
from pytest_crab.types.enums import Reason, Side, StrEnum, Unit, Verdict
from pytest_crab.types.runs import Judgement, PartResult, TestOutcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One result of one scorer on one subject."""

    #: The name of the scorer.
    scorer: str
    unit: Unit
    #: A comment's id, a finding's place from 0, and so on.
    subject: str
    #: The scorer's word for the result (caught, hit, noise); None: not measured.
    label: str | None = None
    #: The number of the result.
    value: float | None = None
    #: Why there is this label, or none.
    reason: Reason
    #: One sentence for people.
    detail: str | None = None
    #: Plain JSON that the scorer defines.
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unit is Unit.FINDING and not self.subject.isdecimal():
            raise ValueError(f"subject is {self.subject[:60]!r}; of a finding it should be its place, from 0")


#: The label of a value that says how alike two texts are, and is no verdict.
COMPARED = "compared"

#: The value of a verdict; an unknown one has none.
_VALUES = {Verdict.CAUGHT: 1.0, Verdict.MISSED: 0.0}


def verdict_score(scorer: str, subject: str, judgement: Judgement, evidence: Mapping[str, Any] | None = None) -> Score:
    """Return a verdict as a score: labelled caught or missed, and without a label where it is unknown."""
    value = _VALUES.get(judgement.verdict)
    return Score(
        scorer=scorer,
        unit=Unit.COMMENT,
        subject=subject,
        label=None if value is None else str(judgement.verdict),
        value=value,
        reason=judgement.reason,
        detail=judgement.detail,
        evidence=evidence or {},
    )


class OracleError(StrEnum):
    """The ways in which an oracle is wrong; in company: the right fix stands beside other right changes."""

    FALSE_ACCEPT = "false accept"
    FALSE_REJECT = "false reject"
    FALSE_REJECT_IN_COMPANY = "false reject in company"

    @property
    def plural(self) -> str:
        """Its name for several."""
        adjective, noun, *rest = self.value.split()
        return " ".join((adjective, f"{noun}s", *rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRate:
    """A rate of errors from counts of answers."""

    #: The answers that are errors.
    wrong: int = 0
    #: Further answers that may be errors.
    undecided: int = 0
    #: All answers.
    total: int = 0
    #: Who made the changes without having seen the oracles: the most of one measurement.
    authors: int = 0
    #: The answers on changes that the oracle was written or mended with.
    repaired: int = 0
    #: The first and the last day of the measurements.
    dates: tuple[str, ...] = ()

    @property
    def low(self) -> float | None:
        """The rate if no undecided answer is an error; None of nothing."""
        return self.wrong / self.total if self.total else None

    @property
    def high(self) -> float | None:
        """The rate if all of them are."""
        return (self.wrong + self.undecided) / self.total if self.total else None

    @property
    def basis(self) -> str:
        """The words for what the rate was measured on; it may not be called an error rate unless it is fresh."""
        kind = f"fresh, {self.authors} {'author' if self.authors == 1 else 'authors'}"
        if self.repaired:
            kind = "checks, after repair" if self.repaired == self.total else f"{kind}, some after repair"
        return ", ".join((kind, " to ".join(self.dates)))

    def __add__(self, other: ErrorRate) -> ErrorRate:
        dates = sorted({*self.dates, *other.dates})
        return ErrorRate(
            wrong=self.wrong + other.wrong,
            undecided=self.undecided + other.undecided,
            total=self.total + other.total,
            authors=max(self.authors, other.authors),
            repaired=self.repaired + other.repaired,
            dates=tuple(dict.fromkeys((dates[0], dates[-1]))) if dates else (),
        )

    @property
    def figures(self) -> str:
        """The rate and its counts, without what it was measured on."""
        if self.low is None or self.high is None:
            return "not measured"
        doubt = f" to {self.high:.1%} ({self.undecided} undecided)" if self.undecided else ""
        return f"{self.low:.1%}{doubt} ({self.wrong} of {self.total})"

    def __str__(self) -> str:
        return f"{self.figures} ({self.basis})" if self.total else self.figures


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredComment:
    """A human comment on the record of a trial, with its place in the pull request."""

    id: str
    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    #: The labels by dimension.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Whether this agent was seen to resolve the comment when it was given the comment alone; None: not tried.
    resolvable: bool | None = None
    #: The measured error rates of its oracle; None: not measured.
    false_accept: ErrorRate | None = None
    false_reject: ErrorRate | None = None
    false_reject_in_company: ErrorRate | None = None
    #: The digest of its oracle's file.
    oracle: str | None = None

    @property
    def category(self) -> str:
        """The label ``category``; empty where the set has none."""
        return self.labels.get("category", "")

    @property
    def kind(self) -> str:
        """The label ``kind``; empty where the set has none."""
        return self.labels.get("kind", "")

    @property
    def error_rates(self) -> dict[OracleError, ErrorRate]:
        """The measured error rates of its oracle."""
        rates = {
            OracleError.FALSE_ACCEPT: self.false_accept,
            OracleError.FALSE_REJECT: self.false_reject,
            OracleError.FALSE_REJECT_IN_COMPANY: self.false_reject_in_company,
        }
        return {error: rate for error, rate in rates.items() if rate is not None}


@dataclass(frozen=True, slots=True)
class CommentResult:
    """One comment of a trial together with one scorer's score of it."""

    place: ScoredComment
    score: Score

    @property
    def comment(self) -> str:
        """The comment's id."""
        return self.place.id

    @property
    def reason(self) -> Reason:
        """The reason of the verdict."""
        return self.score.reason

    @property
    def verdict(self) -> Verdict:
        """The verdict that the reason stands for."""
        return self.score.reason.verdict

    @property
    def detail(self) -> str | None:
        """One sentence."""
        return self.score.detail

    @property
    def tests(self) -> tuple[TestOutcome, ...]:
        """The oracle's tests, where the scorer ran one."""
        return _read_each(TestOutcome, self.score.evidence.get("tests", ()))

    @property
    def parts(self) -> tuple[PartResult, ...]:
        """The result for each thing that the comment asks for, where these are several and the tests told."""
        return _read_each(PartResult, self.score.evidence.get("parts", ()))


def _read_each(cls: type[T], found: Iterable[Any]) -> tuple[T, ...]:
    """Return the records that plain data are; what is none is left out."""
    records = [serialization.read(cls, one, []) for one in found]
    return tuple([record for record in records if record is not None])
