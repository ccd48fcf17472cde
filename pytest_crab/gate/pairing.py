"""Two summaries side by side: each reviewer with its counterpart, as the gate takes them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from pytest_crab.gate.baseline import BaselineComparison, Load
from pytest_crab.gate.comparable import Conditions, differences, find_distrust, refusal, remarks
from pytest_crab.gate.terms import GateTerms
from pytest_crab.results.outcomes import oracle_counts
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.clusters import correlation_of
from pytest_crab.statistics.comparison import Key, Measured, clusters_of, compare, oracle_name
from pytest_crab.statistics.labels import absent_labels, compare_labels
from pytest_crab.statistics.power import Design
from pytest_crab.types import full_name

#: What stands before the name of a pinned run.
ANCHOR = "the anchor "

#: The share of verdicts that is taken to change from run to run where no repeats show it.
ASSUMED_FLIPS = 0.1


def with_missing(
    was: Mapping[Key, Measured], now: Mapping[Key, Measured], planned: Collection[str] | None
) -> dict[Key, Measured]:
    """Return ``now`` with the baseline's oracles that it lacks as unknown.

    ``planned`` are the instances that were to be run; None: all of the baseline.
    """
    missing = {
        key: Measured(repo=own.repo, caught=0, missed=0, unknown=1)
        for key, own in was.items()
        if key not in now and (planned is None or key[0] in planned)
    }
    return {**now, **missing}


def design(
    baseline: ReviewerSummary,
    instances: Iterable[str] | None = None,
    *,
    reviews: int = 1,
    repeats: int | None = None,
    terms: GateTerms | None = None,
    repeated: ReviewerSummary | None = None,
) -> Design | None:
    """Return the design of a run of these instances (None: all) against this baseline.

    The run has ``reviews`` of each instance, and ``repeats`` revisions over all of them (None: one of each review). As
    much as in the baseline is taken to be unknown in it. ``repeated`` is the run whose repeats show the noise (None:
    the baseline). None: there is nothing to compare.
    """
    terms, noisy = terms or GateTerms(), repeated or baseline
    wanted = None if instances is None else set(instances)
    oracles = {own.key: own for own in baseline.oracles if wanted is None or own.instance in wanted}
    known = {key: float(value) for key, own in oracles.items() if (value := own.value()) is not None}
    if not known:
        return None
    repos = {key: own.repo for key, own in oracles.items()}
    values = list(known.values())
    unknown = sum(own.counts().doubt for own in oracles.values()) / len(oracles)
    clusters = clusters_of(list(oracles), repos, terms.unit)
    return Design(
        sizes=tuple(Counter(clusters.labels).values()),
        by=clusters.by,
        rate=sum(values) / len(values),
        noise=_variance(noisy, _reviews_of(baseline), baseline.repeats) + _variance(noisy, reviews, repeats or reviews),
        unknown=unknown,
        unknown_before=unknown,
        correlation=correlation_of(values, clusters_of(list(known), repos, terms.unit).labels),
        level=terms.level,
    )


def known_flips(baseline: ReviewerSummary) -> float | None:
    """Return the baseline's noise floor; None where it does not show the noise of reviewer and agent together."""
    steady = baseline.stability
    return None if steady is None or steady.reviews == 1 else steady.flips


def flips(baseline: ReviewerSummary) -> float:
    """Return the share of verdicts that changes between single runs: the baseline's noise floor, or ASSUMED_FLIPS."""
    known = known_flips(baseline)
    return ASSUMED_FLIPS if known is None else known


def _variance(noisy: ReviewerSummary, reviews: int, repeats: int) -> float:
    """Return the variance of an oracle's mean over so many reviews, with ``repeats`` revisions of them in all.

    Revisions of one review share what the reviewer varies, so only the agent's part shrinks with each of them.
    """
    parts = noisy.stability.variance if noisy.stability and known_flips(noisy) is not None else {}
    agent = parts.get("agent", 0.0)
    of_agent = agent / (agent + parts.get("reviewer", 0.0)) if agent else 0.0
    return flips(noisy) / 2 * ((1 - of_agent) / reviews + of_agent / repeats)


def _reviews_of(own: ReviewerSummary) -> int:
    """Return the number of reviews of each instance."""
    return own.stability.reviews or own.repeats if own.stability else own.repeats


def load(own: ReviewerSummary) -> Load:
    """Return findings, dollars per trial only where every step's cost is known, and what explanations say."""
    priced = own.cost_usd is not None and not own.unpriced and own.trials > 0
    cost = (own.cost_usd or 0.0) / own.trials if priced else None
    return Load(comments=own.comments_per_pull_request, cost_usd=cost, explained=own.explained)


def full_names(reviewers: Iterable[ReviewerSummary]) -> dict[str, str]:
    """Return each reviewer's name with that of its agent, by the name that its run has for it."""
    return {own.reviewer: full_name(own.review_by or own.reviewer, own.agents) for own in reviewers}


def counterpart(reviewer: str, before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """Return the baseline reviewer of the same name, or else the one with the same full name.

    Both runs' reviewers have full names: see ``full_names``. If both have exactly one, pair those; else None.
    """
    if reviewer in before:
        return reviewer
    same = [name for name, full in before.items() if full == after[reviewer]]
    if not same and list(after) == [reviewer]:
        same = list(before)
    return same[0] if len(same) == 1 else None


def pair(
    before: Summary,
    baseline: ReviewerSummary | None,
    summary: Summary,
    own: ReviewerSummary,
    *,
    name: str,
    terms: GateTerms,
    planned: Collection[str] | None = None,
    whole: bool = False,
) -> BaselineComparison:
    """Compare one reviewer with its baseline, which sentences call ``name``.

    ``whole``: the baseline's oracles in the ``planned`` instances (None: in all) that this run lacks are unknown.
    """
    if baseline is None:
        return BaselineComparison(reviewer=own.reviewer, baseline=name, margin=terms.margin)
    was, now = conditions(before, baseline), conditions(summary, own)
    found = differences(was, now)
    doubt = (find_distrust(was) or find_distrust(now)) if terms.gated else None
    allowed_to_differ = (found[terms.allowed],) if terms.allowed in found else ()
    first, second = oracle_counts(baseline.oracles), oracle_counts(own.oracles)
    every = with_missing(first, second, planned) if whole else second
    labels = {oracle.key: oracle.labels for oracle in (*baseline.oracles, *own.oracles)}
    comparison = compare(first, every, level=terms.level, unit=terms.unit)
    if len(every) > len(second):
        comparison = dataclasses.replace(comparison, only_before=len(every) - len(second))
    return BaselineComparison(
        reviewer=own.reviewer,
        baseline=name if baseline.reviewer == own.reviewer else f"{baseline.reviewer} in {name}",
        margin=terms.margin,
        comparison=comparison,
        design=design(
            baseline, {instance for instance, _ in second}, reviews=_reviews_of(own), repeats=own.repeats, terms=terms
        ),
        before=load(baseline),
        after=load(own),
        refusal=doubt or refusal(found, terms.allowed),
        remarks=(*allowed_to_differ, *remarks(was, now)),
        whole=whole and len(every) > len(second),
        gated=terms.gated,
        anchored=name.startswith(ANCHOR),
        injected=own.injected > 0,
        labels=compare_labels(first, every, labels, terms.margins, level=terms.level, unit=terms.unit),
        absent=absent_labels(labels, terms.margins),
        counted=own.counted,
    )


def conditions(summary: Summary, own: ReviewerSummary) -> Conditions:
    """Return the conditions that a reviewer was measured under."""
    instances = {oracle.instance for oracle in own.oracles}
    return Conditions(
        agents=own.agents,
        runtimes=tuple(name for name in own.runtimes if name != "auto"),  # that of trials which never ran, once
        versions=own.versions,
        digests={name: digest for name, digest in summary.digests.items() if name in instances},
        oracles={oracle_name(oracle.key): oracle.digest for oracle in own.oracles if oracle.digest is not None},
        leaky=own.leaky,
        simulated=own.simulated,
        privileged=tuple(name for name in own.privileged if name in own.agents),
    )
