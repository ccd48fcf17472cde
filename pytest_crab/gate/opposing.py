"""Two summaries side by side: each reviewer with its counterpart, and what the rule is told of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from pytest_crab.gate.baseline import MARGIN
from pytest_crab.gate.baseline import Against
from pytest_crab.gate.baseline import Load
from pytest_crab.gate.comparable import Setting
from pytest_crab.gate.comparable import differences
from pytest_crab.gate.comparable import refusal
from pytest_crab.gate.comparable import remarks
from pytest_crab.gate.comparable import untrusted
from pytest_crab.report.oracles import measured
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.statistics.clusters import correlation_of
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.comparison import clusters_of
from pytest_crab.statistics.comparison import compare
from pytest_crab.statistics.comparison import design_of
from pytest_crab.statistics.power import Design

#: The share of verdicts that is taken to change from run to run where no repeats show it.
ASSUMED_FLIPS = 0.1


def contestants(summary: Summary) -> dict[str, ReviewerSummary]:
    """The reviewers that are there to be measured, by name."""
    return {own.reviewer: own for own in summary.reviewers if own.arm is None}


def opposed(before: ReviewerSummary, after: ReviewerSummary, *, whole: bool = False) -> Comparison:
    """The comparison of the first with the second, oracle by oracle.

    ``whole``: the second should have every oracle of the first, and what it lacks is unknown there.
    """
    was, now = measured(before.oracles), measured(after.oracles)
    if not whole:
        return compare(was, now)
    missing = {
        key: Measured(repo=own.repo, caught=0, missed=0, unknown=1) for key, own in was.items() if key not in now
    }
    return dataclasses.replace(compare(was, {**now, **missing}), only_before=len(missing))


def design(baseline: ReviewerSummary, instances: Iterable[str] | None = None, *, repeats: int = 1) -> Design | None:
    """What a run of these instances (None: all), so often repeated, against this baseline can see.

    As much as in the baseline is taken to be unknown in the new run. None: there is nothing to compare.
    """
    wanted = None if instances is None else set(instances)
    oracles = {own.key: own for own in baseline.oracles if wanted is None or own.instance in wanted}
    known = {key: float(value) for key, own in oracles.items() if (value := own.value()) is not None}
    if not known:
        return None
    repos = {key: own.repo for key, own in oracles.items()}
    labels = clusters_of(list(known), repos).labels
    values = list(known.values())
    unknown = sum(own.measured().doubt for own in oracles.values()) / len(oracles)
    return design_of(
        list(oracles),
        repos,
        rate=sum(values) / len(values),
        noise=flips(baseline) / 2 * (1 / baseline.repeats + 1 / repeats),
        unknown=unknown,
        unknown_before=unknown,
        correlation=correlation_of(values, labels),
    )


def flips(baseline: ReviewerSummary) -> float:
    """The share of verdicts that changes between single runs: the baseline's noise floor, or ASSUMED_FLIPS."""
    return ASSUMED_FLIPS if baseline.stability is None else baseline.stability.flips


def comments_and_cost(own: ReviewerSummary) -> Mapping[str, float | None]:
    """Findings and dollars per trial; dollars only where every step's cost is known."""
    priced = own.cost_usd is not None and not own.unpriced
    return {
        "comments": own.comments_per_pull_request,
        "cost_usd": (own.cost_usd or 0.0) / own.trials if priced else None,
    }


def counterpart(reviewer: str, before: Sequence[str], after: Sequence[str]) -> str | None:
    """The one of the same name; else the only one there was, if this is the only one too; else None."""
    if reviewer in before:
        return reviewer
    return before[0] if len(before) == 1 and list(after) == [reviewer] else None


def opposing(
    before: Summary,
    baseline: ReviewerSummary | None,
    summary: Summary,
    own: ReviewerSummary,
    *,
    path: Path,
    margin: float = MARGIN,
    allowed: str | None = None,
    whole: bool = False,
    gated: bool = True,
) -> Against:
    """One reviewer beside its baseline, as the rule takes it; ``whole`` and ``gated`` as in Against."""
    if baseline is None:
        return Against(reviewer=own.reviewer, baseline=str(path), margin=margin)
    was, now = setting(before, baseline), setting(summary, own)
    found = differences(was, now)
    doubt = (untrusted(was) or untrusted(now)) if gated else None
    allowed_to_differ = (found[allowed],) if allowed in found else ()
    return Against(
        reviewer=own.reviewer,
        baseline=f"{path.name}" if baseline.reviewer == own.reviewer else f"{baseline.reviewer} in {path.name}",
        margin=margin,
        comparison=opposed(baseline, own, whole=whole),
        design=design(baseline, {oracle.instance for oracle in own.oracles}, repeats=own.repeats),
        before=Load(**comments_and_cost(baseline)),
        after=Load(**comments_and_cost(own)),
        refusal=doubt or refusal(found, allowed),
        remarks=(*allowed_to_differ, *remarks(was, now)),
        whole=whole,
        gated=gated,
    )


def setting(summary: Summary, own: ReviewerSummary) -> Setting:
    """What a reviewer was measured with."""
    instances = {oracle.instance for oracle in own.oracles}
    return Setting(
        agents=own.agents,
        runtimes=tuple(name for name in own.runtimes if name not in ("none", "auto")),
        versions=own.versions,
        digests={name: digest for name, digest in summary.digests.items() if name in instances},
        leaky=own.leaky,
        simulated=own.simulated,
        privileged=tuple(name for name in own.privileged if name in own.agents),
    )
