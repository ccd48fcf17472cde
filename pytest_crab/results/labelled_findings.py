"""Findings by their labels: how many, what they lead to, and how many of them lead to nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass

from pytest_crab.results.review_cost import TrialLoad, effects_are_known
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import Trial, Unit

#: The dimensions that findings have from their review.
SEVERITY, CONFIDENCE = "severity", "confidence"

#: A dimension and a label of it.
Label = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledFindings:
    """The findings with one label, in all repeats."""

    findings: int
    #: Known verdicts of the trials that these counts are over.
    oracles: int = 0
    #: Reviews that were looked at.
    reviews: int = 0
    #: Catches that a finding with this label caused; None: the cause of a catch is not known in every review.
    caught: int | None = None
    #: Findings with this label that caused no catch; None likewise.
    idle: int | None = None

    @property
    def catch_rate(self) -> float | None:
        """The share of known verdicts that a finding with this label made a catch."""
        return None if self.caught is None or not self.oracles else self.caught / self.oracles

    @property
    def burden(self) -> float | None:
        """The findings with this label per review from which no catch comes."""
        return None if self.idle is None or not self.reviews else self.idle / self.reviews


def labels_of(trial: Trial) -> dict[Label, tuple[int, ...]]:
    """Return the places of the findings with each label: the review's own, and those by scorers of findings."""
    found: dict[Label, list[int]] = {}
    for label, place in _labels(trial):
        found.setdefault(label, []).append(place)
    return {label: tuple(places) for label, places in found.items()}


def _labels(trial: Trial) -> Iterator[tuple[Label, int]]:
    for place, finding in enumerate(() if trial.review is None else trial.review.findings):
        if finding.severity:
            yield (SEVERITY, finding.severity), place
        if finding.confidence:
            yield (CONFIDENCE, confidence_word(finding.confidence)), place
    for score in trial.scores:
        if score.unit is Unit.FINDING and score.label:
            yield (score.scorer, score.label), int(score.subject)


def confidence_word(text: str) -> str:
    """Return a confidence as a label: a number, of 1 or of 100, as the quarter that it lies in, a word as it is."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return text
    share = number if number <= 1 and not text.endswith("%") else number / 100
    if not 0 <= share <= 1:
        return text
    quarter = min(3, int(4 * share))
    return f"{25 * quarter} to {25 * quarter + 25}%"


def findings_by_label(
    rows: Iterable[tuple[TrialLoad, int, Mapping[Label, tuple[int, ...]]]], unasked: AbstractSet[Key]
) -> dict[str, dict[str, LabelledFindings]]:
    """Return the findings by dimension and label, those that are most often first.

    A row is a trial's load, its number of known verdicts, and the places of its findings by label. ``unasked`` is what
    the control catches, which is no finding's effect.
    """
    found = list(rows)
    measured = [(load, known, labels) for load, known, labels in found if load.known and load.findings is not None]
    complete = effects_are_known([load for load, _, _ in measured])
    counts: dict[Label, int] = {}
    for _, _, labels in found:
        for label, places in labels.items():
            counts[label] = counts.get(label, 0) + len(places)
    several: dict[str, dict[str, LabelledFindings]] = {}
    for (dimension, word), count in sorted(counts.items(), key=lambda pair: (pair[0][0], -pair[1])):
        own = LabelledFindings(findings=count)
        if complete:
            parts = [_part(load, labels.get((dimension, word), ()), unasked) for load, _, labels in measured]
            own = LabelledFindings(
                findings=count,
                oracles=sum(known for _, known, _ in measured),
                reviews=len(measured),
                caught=sum(caught for caught, _ in parts),
                idle=sum(idle for _, idle in parts),
            )
        several.setdefault(dimension, {})[word] = own
    return several


def _part(load: TrialLoad, places: Collection[int], unasked: AbstractSet[Key]) -> tuple[int, int]:
    """Return a trial's catches that come from findings at these places, and how many of these gave none."""
    own = [set(led) & set(places) for key, led in (load.effects or {}).items() if key not in unasked]
    return sum(map(bool, own)), len(set(places) - set().union(*own))
