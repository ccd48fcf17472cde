"""AACR-Bench's measures of matched reviews (arXiv 2601.19494, section 4): recall, precision and F1, and noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.statistics.signal import Measure, f_measure

NO_FINDING, NO_COMMENT = "there is no finding", "there is no comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The outcome of a finding or of a known comment."""

    #: Whether it is matched by place; None: unknown. A comment without a file has no place, and so has a finding on a
    #: pull request where no comment has one.
    line: bool | None
    #: Whether it is matched by place and concern; None: unknown.
    semantic: bool | None = None
    #: Its labels by dimension.
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRates:
    """Matches among known results, with their rates."""

    #: What recall is taken over.
    comments: int
    #: Comments that a finding matches.
    matched_comments: int
    #: What precision is taken over.
    findings: int
    #: Findings that match a comment; differs from ``matched_comments`` only in a slice, and where some are unknown.
    matched_findings: int
    recall: Measure
    precision: Measure
    f1: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchMeasures:
    """The measures of matches."""

    #: By place.
    line: MatchRates
    #: By place and concern.
    semantic: MatchRates
    #: The share of findings without a semantic match.
    noise: Measure
    unknown_findings: int = 0
    unknown_comments: int = 0


def measure(findings: Iterable[Hit], comments: Iterable[Hit], no_finding: str = NO_FINDING) -> MatchMeasures:
    """Return the measures of these findings and comments; ``no_finding`` is the reason where there are none."""
    findings, comments = list(findings), list(comments)
    semantic = _rates([one.semantic for one in findings], [one.semantic for one in comments], no_finding)
    precision = semantic.precision
    return MatchMeasures(
        line=_rates([one.line for one in findings], [one.line for one in comments], no_finding),
        semantic=semantic,
        noise=precision if precision.value is None else Measure(value=1 - precision.value),
        unknown_findings=sum(one.semantic is None for one in findings),
        unknown_comments=sum(one.semantic is None for one in comments),
    )


def measure_by(dimension: str, findings: Sequence[Hit], comments: Sequence[Hit]) -> Iterator[tuple[str, MatchMeasures]]:
    """Yield the measures of each label that a known comment has in this dimension, sorted.

    Findings without a label there count in no slice, and where none has one, precision is undefined.
    """
    labelled = any(dimension in one.labels for one in findings)
    reason = NO_FINDING if labelled or not findings else f"no finding has a label of {dimension}"
    for label in sorted({one.labels[dimension] for one in comments if dimension in one.labels}):
        said, known = ([one for one in side if one.labels.get(dimension) == label] for side in (findings, comments))
        yield label, measure(said, known, reason)


def _rates(findings: Sequence[bool | None], comments: Sequence[bool | None], no_finding: str) -> MatchRates:
    known_findings, known_comments = (len(side) - side.count(None) for side in (findings, comments))
    recall = Measure.ratio(comments.count(True), known_comments, NO_COMMENT if not comments else "no comment is known")
    precision = Measure.ratio(
        findings.count(True), known_findings, no_finding if not findings else "no finding is known"
    )
    f1 = f_measure(precision.value, recall.value)
    return MatchRates(
        comments=known_comments,
        matched_comments=comments.count(True),
        findings=known_findings,
        matched_findings=findings.count(True),
        recall=recall,
        precision=precision,
        f1=Measure(value=f1, undefined=recall.undefined or precision.undefined),
    )
