"""Two summaries side by side: each reviewer with its counterpart, and what the rule is told of both."""

from __future__ import annotations

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
from pytest_crab.report.oracles import measured
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.statistics.clusters import correlation_of
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.comparison import clusters_of
from pytest_crab.statistics.comparison import compare
from pytest_crab.statistics.comparison import design_of
from pytest_crab.statistics.power import Design

#: The share of verdicts that is taken to change from run to run where no repeats show it.
ASSUMED_FLIPS = 0.1


def contestants(summary: Summary) -> dict[str, ReviewerSummary]:
    """The reviewers that are there to be measured, by name."""
    return {own.reviewer: own for own in summary.reviewers if own.arm is None}


def opposed(before: ReviewerSummary, after: ReviewerSummary) -> Comparison:
    """The comparison of the first with the second, oracle by oracle."""
    return compare(measured(before.oracles), measured(after.oracles))


def design(baseline: ReviewerSummary, instances: Iterable[str] | None = None) -> Design | None:
    """What a run of these instances (None: all) against this baseline can see; None: there is nothing to compare."""
    wanted = None if instances is None else set(instances)
    oracles = [own for own in baseline.oracles if wanted is None or own.instance in wanted]
    known = {own.key: own for own in oracles if own.value() is not None}
    if not known:
        return None
    repos = {key: own.repo for key, own in known.items()}
    labels, _ = clusters_of(list(known), repos)
    values = [float(own.value() or 0) for own in known.values()]
    return design_of(
        list(known),
        repos,
        rate=sum(values) / len(values),
        discordance=flips(baseline),
        correlation=correlation_of(values, labels),
    )


def flips(baseline: ReviewerSummary) -> float:
    """The share of verdicts that changes from run to run: the baseline's noise floor, or ASSUMED_FLIPS."""
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
) -> Against:
    """One reviewer beside its baseline, as the rule takes it."""
    if baseline is None:
        return Against(reviewer=own.reviewer, baseline=str(path), margin=margin)
    was, now = setting(before, baseline), setting(summary, own)
    found = differences(was, now)
    allowed_to_differ = (found[allowed],) if allowed in found else ()
    return Against(
        reviewer=own.reviewer,
        baseline=f"{path.name}" if baseline.reviewer == own.reviewer else f"{baseline.reviewer} in {path.name}",
        margin=margin,
        comparison=opposed(baseline, own),
        design=design(baseline, {oracle.instance for oracle in own.oracles}),
        before=Load(**comments_and_cost(baseline)),
        after=Load(**comments_and_cost(own)),
        refusal=refusal(found, allowed),
        remarks=(*allowed_to_differ, *remarks(was, now)),
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
    )
