"""Comparisons, repeats and burdens as sentences of plain ASCII, for a terminal or a pull request's comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_crab.formats import (
    format_change_interval,
    format_count,
    format_decimal,
    format_dollars,
    format_percent,
    format_points,
    format_whole_percent,
)
from pytest_crab.report.comparisons import Lift, Pair
from pytest_crab.report.reviewer_summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.text import ascii_line

#: How many pairs of reviewers are spelt out; summary.json has all.
_PAIRS = 6

#: What more money can be spent on, by its name in ``Stability.narrowing``.
_WAYS = {
    "instances": "instances of further repositories",
    "repeats": "repeats with reviews of their own",
    "revisions": "revisions of the same reviews",
}


def lift_lines(summary: Summary) -> Iterator[str]:
    """Yield the net lift of each reviewer over the control."""
    rates = {reviewer.reviewer: reviewer.overall.micro for reviewer in summary.reviewers}
    for reviewer in summary.reviewers:
        if reviewer.lift is not None:
            own, control = reviewer.overall.micro, rates.get(reviewer.lift.control)
            apart = None if own is None or control is None else own - control
            yield f"{ascii_line(reviewer.reviewer)}: {_lift(reviewer.lift, apart)}"


def together_lines(summary: Summary) -> Iterator[str]:
    """Yield what several reviewers catch together, and each pair against each other."""
    together = summary.together
    if len(together.reviewers) < 2 or not together.oracles:
        return
    alone = ", ".join(f"{ascii_line(name)} alone {count}" for name, count in together.unique.items())
    counted = "comments" if all(own.decided_by for own in summary.reviewers) else "oracles"
    yield f"together: {together.union} of {together.oracles} {counted} caught by any; {alone}"
    yield from (_pair(pair) for pair in together.pairs[:_PAIRS])
    if len(together.pairs) > _PAIRS:
        yield f"and {len(together.pairs) - _PAIRS} more pairs in summary.json"


def repeat_lines(reviewer: ReviewerSummary) -> Iterator[str]:
    """Yield what the repeats show."""
    steady = reviewer.stability
    if steady is None:
        return
    if steady.reviews is not None:
        made = format_count(steady.reviews, "review")
        yield f"{reviewer.repeats // steady.reviews} revisions of each of {made} of a pull request"
    away = "" if steady.deviation is None else f", standard deviation {format_percent(steady.deviation)} points"
    rates = ", ".join(map(format_percent, steady.rates))
    yield f"{steady.stable} of {steady.oracles} oracles with the same verdict every time; rates {rates}%{away}"
    most = max(steady.pass_at, key=int)
    of = "two revisions of one review" if steady.reviews == 1 else "two runs"
    yield (
        f"noise floor: {format_percent(steady.flips)}% of verdicts differ between {of}; "
        f"pass@{most} {format_percent(steady.pass_at[most])}%"
    )
    if steady.variance:
        shares = ", ".join(f"{name} {format_whole_percent(share)}" for name, share in steady.variance.items())
        yield f"variance of a verdict: {shares}"
    if steady.narrowing is not None:
        yield _next_money(reviewer, steady.narrowing)


def _next_money(reviewer: ReviewerSummary, narrowing: Mapping[str, float]) -> str:
    """Say whether as much money again is better spent on instances, on repeats or on revisions of the same reviews."""
    priced = bool(reviewer.cost_usd) and not reviewer.unpriced
    money = f"the next {format_dollars(reviewer.cost_usd or 0.0)} USD" if priced else "as much money again"
    ways = [f"by {format_whole_percent(narrowing[name])} as {way}" for name, way in _WAYS.items() if name in narrowing]
    return (
        f"more instances or more repeats? {money} would narrow the interval of the rate {', '.join(ways[:-1])}, and "
        f"{ways[-1]}"
    )


def clean_line(reviewer: ReviewerSummary) -> str | None:
    """Return the false alarms per clean pull request; None where the set has no clean one."""
    clean = reviewer.clean
    if clean is None:
        return None
    return (
        f"{format_decimal(clean.per_pull_request)} false alarms per clean pull request: "
        f"{format_count(clean.findings, 'finding')} in {format_count(clean.reviews, 'review')}, "
        f"{clean.alarmed} of them with any"
    )


def burden_lines(reviewer: ReviewerSummary) -> Iterator[str]:
    """Yield what the review costs its readers and the code; nothing where it said and changed nothing."""
    burden = reviewer.burden
    if burden.findings:
        effect = "" if burden.without_effect is None else f", {burden.without_effect} without effect on any oracle"
        over = f" in all {reviewer.repeats} repeats" if reviewer.repeats > 1 else ""
        yield f"{format_count(burden.findings, 'finding')}{over}, {burden.idle} in reviews that led to no catch{effect}"
    if burden.added or burden.removed:
        yield f"revisions: +{burden.added} -{burden.removed} lines in {burden.revisions}"
    if reviewer.curve:
        points = ", ".join(
            f"{name}: {format_percent(rate)}%" for name, rate in sorted(reviewer.curve.items(), key=_place)
        )
        yield f"with only its first findings: {points}"


def _place(point: tuple[str, float]) -> float:
    return int(point[0]) if point[0].isdigit() else float("inf")


def _lift(lift: Lift, apart: float | None) -> str:
    """Describe a lift; ``apart`` is the rate minus the control's, which is said where it is another number."""
    comparison = lift.comparison
    if comparison.difference is None:
        return f"no oracle has a verdict here and under the control {ascii_line(lift.control)}"
    parts = [f"net lift {_change(comparison)} over the control {ascii_line(lift.control)}"]
    if apart is not None and abs(apart - comparison.difference) >= 5e-4:
        parts.append(
            f"the rates are {100 * apart:+.1f} points apart, but the lift is over the "
            f"{format_count(comparison.known, 'oracle')} known in both, and an empty review takes the control's verdict"
        )
    if lift.cost_usd is not None:
        parts.append(f"{format_dollars(lift.cost_usd)} USD per net caught oracle")
    if lift.seconds is not None:
        parts.append(f"{lift.seconds:.0f} s per net caught oracle")
    return "; ".join(parts)


def _pair(pair: Pair) -> str:
    first, second = ascii_line(pair.first), ascii_line(pair.second)
    parts = [f"both {pair.both}, only {first} {pair.only_first}, only {second} {pair.only_second}"]
    if pair.comparison.difference is not None:
        parts.append(f"{second} {_change(pair.comparison)} against {first}, p by Holm {pair.p_holm:.2g}")
    if pair.kappa is not None:
        parts.append(f"kappa {format_decimal(pair.kappa)}")
    if pair.cost_of_second is not None:
        parts.append(
            f"adding {second} to {first}: {_more(pair.only_second)} for {format_dollars(pair.cost_of_second)} USD"
        )
    return f"{first} and {second}: {'; '.join(parts)}"


def _more(count: int) -> str:
    return format_count(count, "more oracle")


def _change(comparison: Comparison) -> str:
    assert comparison.difference is not None
    text = f"{format_points(comparison.difference)} points"
    if comparison.interval is None:
        return text
    interval = comparison.interval
    return f"{text} (95% interval {format_change_interval(interval)} over {interval.basis})"
