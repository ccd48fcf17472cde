"""CR-Evaluator's measures of reviews (arXiv 2603.11078, section 5): what is found, and how much noise comes with it.

The paper divides one number of hits by the bugs and by the reviews. Where a bug is hit twice these are two numbers, the
findings that hit and the bugs that are hit, and its own table fits neither alone. Both are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

#: The labels of a finding.
BUG_HIT, VALID_SUGGESTION, NOISE = LABELS = ("BUG_HIT", "VALID_SUGGESTION", "NOISE")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReview:
    """One review; None is unknown."""

    #: The label of each finding.
    findings: Sequence[str | None]
    #: Whether a finding hits the bug, for each bug.
    bugs: Sequence[bool | None]
    #: The labels of each bug by dimension (category, impact, severity), in the order of ``bugs``.
    bug_labels: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that may be undefined."""

    #: None: it is undefined.
    value: float | None
    #: The reason why it is.
    undefined: str | None = None

    @classmethod
    def ratio(cls, part: int, whole: int, undefined: str) -> Measure:
        """Return part / whole; ``undefined`` is the reason where the whole is 0."""
        return cls(value=part / whole) if whole else cls(value=None, undefined=undefined)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The measures of a reviewer, over findings and bugs whose label is known."""

    findings: int
    #: Findings that hit a bug.
    hits: int
    valid: int
    noise: int
    unknown_findings: int
    bugs: int
    #: Bugs that are hit.
    bugs_hit: int
    unknown_bugs: int
    #: ``bugs_hit`` of ``bugs``.
    recall: Measure
    #: ``hits`` of ``findings``.
    precision: Measure
    #: ``hits`` over ``bugs``, as equation 2 is written, which may exceed 1.
    recall_of_hits: Measure
    #: ``bugs_hit`` of ``findings``.
    precision_of_bugs: Measure
    #: Of ``recall`` and ``precision``.
    f1: Measure
    usefulness: Measure
    snr: Measure
    #: Bugs (hit, known) by dimension and label.
    recall_by_label: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)


def signal(reviews: Iterable[JudgedReview]) -> Signal:
    """Return the measures of all these reviews together, each counted once."""
    reviews = list(reviews)
    labels = [label for review in reviews for label in review.findings]
    bugs = [hit for review in reviews for hit in review.bugs]
    hits, valid, noise = (labels.count(label) for label in LABELS)
    findings, known, bugs_hit = hits + valid + noise, len(bugs) - bugs.count(None), bugs.count(True)
    recall = Measure.ratio(bugs_hit, known, "no bug is known")
    precision = Measure.ratio(hits, findings, "there is no finding")
    return Signal(
        findings=findings,
        hits=hits,
        valid=valid,
        noise=noise,
        unknown_findings=len(labels) - findings,
        bugs=known,
        bugs_hit=bugs_hit,
        unknown_bugs=len(bugs) - known,
        recall=recall,
        precision=precision,
        recall_of_hits=Measure.ratio(hits, known, "no bug is known"),
        precision_of_bugs=Measure.ratio(bugs_hit, findings, "there is no finding"),
        f1=_f1(precision, recall),
        usefulness=Measure.ratio(hits + valid, findings, "there is no finding"),
        snr=Measure.ratio(hits + valid, noise, "there is no noise" if findings else "there is no finding"),
        recall_by_label=_recall_by_label(reviews),
    )


def f_measure(precision: float | None, recall: float | None, beta: float = 1) -> float | None:
    """Return the F measure, in which recall counts ``beta`` times as much; 0 where one is 0, None of an unknown."""
    if precision is None or recall is None:
        return None
    weight = beta * beta
    return (1 + weight) * precision * recall / (weight * precision + recall) if precision and recall else 0.0


def _f1(precision: Measure, recall: Measure) -> Measure:
    for measure in (precision, recall):
        if measure.value is None:
            return measure
    if not precision.value and not recall.value:
        return Measure(value=None, undefined="precision and recall are 0")
    return Measure(value=f_measure(precision.value, recall.value))


def _recall_by_label(reviews: Sequence[JudgedReview]) -> dict[str, dict[str, tuple[int, int]]]:
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for review in reviews:
        for hit, labels in zip(review.bugs, review.bug_labels, strict=False):
            for dimension, label in labels.items() if hit is not None else ():
                hits, known = found.setdefault(dimension, {}).get(label, (0, 0))
                found[dimension][label] = hits + bool(hit), known + 1
    return {dimension: dict(sorted(found[dimension].items())) for dimension in sorted(found)}
