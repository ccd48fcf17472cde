"""The rows that a summary is made from, one for each trial: numbers, labels and causes, no bodies and no diffs."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from pytest_crab.results.explain import why
from pytest_crab.results.labelled_findings import Label, labels_of
from pytest_crab.results.model_usage import usages_of, whole_sum
from pytest_crab.results.outcomes import OracleRecord, letter, letter_alone
from pytest_crab.results.recorded_rulers import RecordedRuler, rulers_of
from pytest_crab.results.review_cost import TrialLoad, load
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import (
    CommentResult,
    ErrorRate,
    Explanation,
    OracleError,
    Provenance,
    Review,
    Revision,
    Trial,
    Unit,
    Usage,
    Verdict,
)
from pytest_crab.types.reviews import SuggestionCounts

T = TypeVar("T")

#: The scorer whose errors are measured.
ORACLES = "oracles"

#: What all rows hold that have none of something.
_NONE: Mapping[Any, Any] = MappingProxyType({})

#: The steps whose time is a reviewer's: proofs, images and downloads are none of it.
_OWN_STEPS = ("review", "revision", "verdict")


class TrialRow(NamedTuple):  # a frozen record takes four times as long to make
    """One trial, as the summary of its reviewer needs it."""

    instance: str
    repo: str
    provenance: Provenance
    #: Empty: not on record.
    language: str
    agent: str
    runtime: str
    repeat: int
    variant: str | None
    clean: bool
    #: Those, reviewer or agent, that were shown the answer.
    privileged: tuple[str, ...]
    #: Those, reviewer or agent, that could read the public discussion.
    leaky: tuple[str, ...]
    simulated: bool
    #: The reason why it was skipped; None: it was not.
    skipped: str | None
    load: TrialLoad
    #: The costs of its steps in US dollars; None for each that is not known.
    costs: tuple[float | None, ...]
    #: The same of attempts that failed.
    failed_costs: tuple[float | None, ...]
    #: Whether its revision broke a test of pass_to_pass; None: that was not looked at.
    regressions: bool | None
    suggestions: SuggestionCounts | None
    seconds: float
    #: The time of review, revision and verdicts; None: some were kept from before.
    own_seconds: float | None
    versions: tuple[tuple[str, str], ...]
    #: The digest of what the instance was made of; None: not on record.
    digest: str | None
    #: This trial's verdict alone, by the scorer ``decided_by``.
    oracles: tuple[OracleRecord, ...]
    #: The cause of each unknown verdict.
    causes: tuple[str, ...] = ()
    usages: tuple[tuple[str, Usage], ...] = ()
    finding_labels: Mapping[Label, tuple[int, ...]] = _NONE
    #: The time of a review that was made in this run.
    review_seconds: float | None = None
    decided_by: str | None = None
    #: Scorer, comment and value, None where it has none.
    ruler_values: tuple[tuple[str, str, float | None], ...] = ()
    rulers: Mapping[str, RecordedRuler] = _NONE
    review_by: str | None = None
    #: The cost of its review where an earlier trial of this reviewer has the same review.
    shared_cost: float = 0.0
    #: The cost of its review and of its revision in US dollars.
    prices: tuple[float | None, float | None] = (None, None)
    #: The error rates of the oracles that have measured ones, by comment.
    error_rates: Mapping[str, Mapping[OracleError, ErrorRate]] = _NONE
    explanations: Mapping[str, Explanation] = _NONE
    #: Those, reviewer or agent, whose prompt did not hold all of the pull request.
    cut: tuple[str, ...] = ()


def row_of(trial: Trial) -> TrialRow:
    """Return the row of a trial."""
    own, costs = _without_shared_review(trial), costs_of(trial)
    shared = 0.0 if own is trial else _sum_known(costs) - _sum_known(costs_of(own))
    return TrialRow(
        instance=trial.instance,
        repo=trial.repo,
        provenance=trial.provenance,
        language=trial.language,
        agent=trial.agent,
        runtime=trial.runtime,
        repeat=trial.repeat,
        variant=trial.variant,
        clean=trial.clean,
        privileged=trial.privileged,
        leaky=trial.leaky,
        simulated=trial.simulated,
        skipped=trial.skipped,
        load=load(trial),
        costs=costs,
        failed_costs=tuple(usage.cost_usd for usage in own.failed_usages),
        regressions=trial.regressions,
        suggestions=None if trial.revision is None else trial.revision.suggestions,
        seconds=trial.seconds,
        own_seconds=_seconds(trial),
        versions=_versions(trial),
        digest=trial.versions.get("instance"),
        error_rates={one.id: rates for one in trial.comments if (rates := one.error_rates)} or _NONE,
        oracles=tuple(_oracles(trial)),
        causes=tuple(map(why, trial.having(Verdict.UNKNOWN))),
        usages=tuple(usages_of(own)),
        finding_labels=labels_of(trial) or _NONE,
        review_seconds=_review_seconds(trial),
        decided_by=trial.ruler,
        ruler_values=_same(
            tuple((one.scorer, one.subject, one.value) for one in trial.scores if one.unit is Unit.COMMENT)
        ),
        rulers=rulers_of(trial) or _NONE,
        review_by=trial.review_by,
        shared_cost=shared,
        prices=(_price(trial.review), _price(trial.revision)),
        explanations=trial.explanations or _NONE,
        cut=tuple(
            who
            for who, step in (("reviewer", trial.review), ("agent", trial.revision))
            if step is not None and step.cut
        ),
    )


@functools.lru_cache(4096)
def _same(values: T) -> T:
    """Return values that earlier rows with equal ones hold."""
    return values


def _oracles(trial: Trial) -> Iterator[OracleRecord]:
    for result in trial.results:
        yield OracleRecord(
            instance=trial.instance,
            comment=result.comment,
            repo=trial.repo,
            labels=result.place.labels,
            verdicts=letter(result.reason),
            reviews=() if trial.review_number is None else (trial.review_number,),
            resolvable=result.place.resolvable,
            alone=_alone(trial, result) if trial.explanations else "",
            digest=result.place.oracle,
        )


def _alone(trial: Trial, result: CommentResult) -> str:
    explanation = trial.explanations.get(result.comment)
    return letter_alone(result.reason, None if explanation is None else explanation.alone)


def _without_shared_review(trial: Trial) -> Trial:
    """Return the trial without what its review has used, if it is that of an earlier trial of this reviewer."""
    if trial.review is None or trial.review_number in (None, trial.repeat):
        return trial
    return dataclasses.replace(trial, review=dataclasses.replace(trial.review, usage=None, failed=None))


def _sum_known(costs: Iterable[float | None]) -> float:
    return sum(one for one in costs if one is not None)


def _price(step: Review | Revision | None) -> float | None:
    """Return the dollars of a review or a revision; None: not known."""
    return None if step is None or step.usage is None else step.usage.cost_usd


def _review_seconds(trial: Trial) -> float | None:
    """Return the seconds of a review that was made here; None: it was kept from before, or there is none."""
    made = [step.seconds for step in trial.steps if step.step == "review" and not step.reused]
    return made[0] if made and trial.review is not None else None


def _seconds(trial: Trial) -> float | None:
    own = [step for step in trial.steps if step.step in _OWN_STEPS]
    if not own and all(result.verdict is Verdict.UNKNOWN for result in trial.results):
        return 0.0
    return None if not own or any(step.reused for step in own) else sum(step.seconds for step in own)


def _versions(trial: Trial) -> tuple[tuple[str, str], ...]:
    """Return the versions on record: of the contestants, their models, the harness and this package."""
    found = {
        "reviewer": trial.review and trial.review.version,
        "agent": trial.revision and trial.revision.version,
        "reviewer-identity": trial.versions.get("reviewer-identity"),
        "agent-identity": trial.versions.get("agent-identity"),
        "harness": trial.versions.get("harness"),
        "pytest_crab": trial.versions.get("pytest_crab"),
    }
    steps = {"reviewer-model": trial.review, "agent-model": trial.revision}
    asked = [(name, model) for name, step in steps.items() if step and step.usage for model in step.usage.models or ()]
    return (*((name, str(version)) for name, version in found.items() if version is not None), *asked)


def oracles_of(repeats: Iterable[tuple[int, Iterable[OracleRecord]]]) -> list[OracleRecord]:
    """Return the oracles of numbered repeats, each once, with the verdicts of its repeats in their order."""
    found: dict[Key, dict[int, OracleRecord]] = {}
    for repeat, oracles in repeats:
        for oracle in oracles:
            found.setdefault(oracle.key, {})[repeat] = oracle
    return [_over_repeats(own) for own in found.values()]


def _over_repeats(own: Mapping[int, OracleRecord]) -> OracleRecord:
    """Return one record of an oracle from those of its repeats, by their numbers."""
    first, *more = own.values()
    repeats = sorted(own)
    if not more and repeats == [1] and not (first.reviews or first.alone):
        return first
    shared = any(one.reviews for one in own.values())
    explained = any(one.alone for one in own.values())
    marks = [one.resolvable for one in own.values() if one.resolvable is not None]
    return dataclasses.replace(
        first,
        verdicts="".join(own[repeat].verdicts for repeat in repeats),
        reviews=tuple(number for repeat in repeats for number in own[repeat].reviews or (repeat,)) if shared else (),
        repeats=() if repeats == list(range(1, len(repeats) + 1)) else tuple(repeats),
        resolvable=marks[-1] if marks else None,
        alone="".join(own[repeat].resolved_alone().verdicts for repeat in repeats) if explained else "",
    )


def comments_of(rows: Iterable[TrialRow]) -> tuple[Fraction, int]:
    """Return the findings, averaged over each instance's reviews, and the number of instances that have a review."""
    findings: dict[str, list[int]] = {}
    for row in rows:
        if row.load.findings is not None:
            findings.setdefault(row.instance, []).append(row.load.findings)
    means = [Fraction(sum(own), len(own)) for own in findings.values()]
    return sum(means, Fraction()), len(means)


def per_run(rows: Iterable[TrialRow], value: Callable[[TrialRow], float | None]) -> float | None:
    """Return the sum over instances of the mean over repeats, as one run takes it; None if a value is not known."""
    found: dict[str, list[float]] = {}
    for row in rows:
        one = value(row)
        if one is None:
            return None
        found.setdefault(row.instance, []).append(one)
    return sum(sum(own) / len(own) for own in found.values())


def costs_of(trial: Trial) -> tuple[float | None, ...]:
    """The dollars of a trial's review and revision, of those that there are, and of failed attempts; None: unknown."""
    used = (*trial.usages, *trial.failed_usages)
    return tuple(None if usage is None else usage.cost_usd for usage in used)


def cost(row: TrialRow) -> float | None:
    """The dollars of a trial's review, revision and failed attempts, 0 if there was none; None: one is not known."""
    return whole_sum(row.costs) if row.costs else 0.0


def review_price(rows: Iterable[TrialRow]) -> float:
    """Return what a review costs in revisions; 0 where one of the two prices is not known."""
    known = [row.prices for row in rows if None not in row.prices]
    review, revision = (math.fsum(own[part] or 0.0 for own in known) for part in (0, 1))
    return review / revision if revision else 0.0
