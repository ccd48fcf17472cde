"""The gate's rule on one reviewer against its baseline: worse, better, no worse, or cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.gate.results import ORDER, RESULTS, GateResult, Word
from pytest_crab.gate.terms import MARGIN
from pytest_crab.results.explained import ExplainedRates
from pytest_crab.statistics.comparison import PULL_REQUEST, Comparison
from pytest_crab.statistics.labels import LabelComparison
from pytest_crab.statistics.paired import holm
from pytest_crab.statistics.power import Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The cost and the findings of a reviewer, and what explains its verdicts; None: unknown."""

    #: Dollars per pull request.
    cost_usd: float | None = None
    #: Findings per pull request.
    comments: float | None = None
    #: The rates by the explanations of verdicts.
    explained: ExplainedRates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """One reviewer beside its baseline."""

    reviewer: str
    baseline: str
    #: In points.
    margin: float = MARGIN
    #: None: the baseline has no such reviewer.
    comparison: Comparison | None = None
    design: Design | None = None
    before: Load = Load()
    after: Load = Load()
    #: The reason why the two cannot be compared; None: they can.
    refusal: str | None = None
    #: Sentences on what else differs.
    remarks: tuple[str, ...] = ()
    #: Whether oracles that only the baseline has count as unknown.
    whole: bool = False
    #: Whether a gate was asked for.
    gated: bool = True
    #: A comparison for each label.
    labels: tuple[LabelComparison, ...] = ()
    #: The labels with a margin that no oracle has.
    absent: tuple[str, ...] = ()
    #: Whether the baseline is a pinned run beside another one.
    anchored: bool = False
    #: Whether the oracles are of injected faults.
    injected: bool = False
    #: The word for one of what is compared.
    counted: str = "oracle"
    #: The word for what holds several of them.
    instance: str = PULL_REQUEST

    @property
    def name(self) -> str:
        """The reviewer's name; with the anchor, where that is what it is compared with."""
        return f"{self.reviewer} against {self.baseline}" if self.anchored else self.reviewer

    @property
    def problem(self) -> str | None:
        """The sentence that says why this reviewer has no comparison; None if it has one."""
        if self.refusal is not None:
            return f"{self.reviewer}: not comparable with {self.baseline}: {self.refusal}."
        if self.comparison is None:
            return f"{self.reviewer}: {self.baseline} has no reviewer to compare it with."
        if not self.comparison.known:
            return f"{self.reviewer}: no {self.counted} has a verdict here and in {self.baseline}."
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRuling:
    """The result of one reviewer."""

    result: GateResult
    #: What its overall rate shows.
    word: Word
    #: Each label that counts, with what its rate shows.
    labels: tuple[tuple[LabelComparison, Word], ...] = ()


def rule_on_baselines(several: Sequence[BaselineComparison]) -> list[BaselineRuling]:
    """Rule on each reviewer of a run.

    Worse: the test shows a drop, with every unknown taken as the best; p is adjusted (Holm) for the number of reviewers
    and of labels with a margin, so that the chance of any false failure stays what it is with one. Better: it shows a
    gain, with every unknown taken as the worst. No worse: the interval of the difference lies above minus the margin,
    with every unknown taken as the worst; where the drop is shown too, it is worse and within the margin. Nothing needs
    to be adjusted for these, since every reviewer and label has to pass. Else the run cannot tell, and so it is where
    the two cannot be compared.

    A label with a margin is ruled on in the same way. One without never fails, but a reviewer does not pass while its
    oracles, if they are not all, show a drop of more than the margin when taken alone.
    """
    adjusted = holm({key: comparison.p_drop for key, comparison in _claims(several)})
    return [_rule_on_reviewer(f"{at}", one, adjusted) for at, one in enumerate(several)]


def _rule_on_reviewer(name: str, one: BaselineComparison, adjusted: Mapping[str, float]) -> BaselineRuling:
    if one.problem is not None or one.comparison is None:
        return BaselineRuling(result=GateResult.INCONCLUSIVE, word=Word.CANNOT_TELL)
    overall = _word(one.comparison, one.margin, adjusted[name])
    labels = []
    for label in one.labels:
        if label.margin is not None:
            p = adjusted[f"{name} {label.dimension}:{label.label}"]
            labels.append((label, _word(label.comparison, label.margin, p)))
        elif label.comparison.pairs < one.comparison.pairs and label.stands_out(one.margin):
            labels.append((label, Word.CANNOT_TELL))
    results = [
        RESULTS[word] for word in (overall, *(word for _, word in labels), *(Word.CANNOT_TELL for _ in one.absent))
    ]
    return BaselineRuling(result=min(results, key=ORDER.index), word=overall, labels=tuple(labels))


def _claims(several: Sequence[BaselineComparison]) -> Iterator[tuple[str, Comparison]]:
    """Yield each comparison that may fail the gate, by name."""
    for at, one in enumerate(several):
        if one.problem is None and one.comparison is not None:
            yield f"{at}", one.comparison
            for label in one.labels:
                if label.margin is not None:
                    yield f"{at} {label.dimension}:{label.label}", label.comparison


def _word(comparison: Comparison, margin: float, p_drop: float) -> Word:
    if comparison.low is None or not comparison.known:
        return Word.CANNOT_TELL
    if 100 * comparison.low >= -margin - 1e-6:
        return Word.BETTER if comparison.gain_shown else Word.WITHIN if comparison.drop_shown else Word.NO_WORSE
    return Word.WORSE if p_drop < (1 - comparison.level) / 2 else Word.CANNOT_TELL
