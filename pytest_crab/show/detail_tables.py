"""The tables beside the rates: repeats, findings, revisions and costs of each reviewer, and each pair of reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.formats import (
    NOTHING,
    format_change_interval,
    format_decimal,
    format_dollars,
    format_interval,
    format_p,
    format_part,
    format_percent,
    format_points,
)
from pytest_crab.results.comparisons import Pair
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.reviewer_numbers import of_resolvable
from pytest_crab.show.summary_tables import SummaryTable, label
from pytest_crab.text import ascii_line

#: How many pairs of reviewers have a row; the page and summary.json have the others.
_PAIRS = 15

#: The title of the table of pairs.
PAIRS = "Pairs of reviewers"

#: The parts of a verdict's variance, from the outside in.
_PARTS = ("repository", "pull request", "oracle", "reviewer", "agent", "run")


def detail_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield the table of reviewers, without rows that no reviewer has a number for, and that of pairs."""
    columns = {label(own): dict(_details(own, summary)) for own in summary.reviewers}
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    names = [name for name in names if any(column.get(name, NOTHING) != NOTHING for column in columns.values())]
    if names:
        cells = [[head, *(column.get(name, NOTHING) for name in names)] for head, column in columns.items()]
        yield SummaryTable("Repeats, findings, revisions and costs", "Details", names, cells)
    if pairs := [pair for pair in summary.together.pairs if pair.comparison.difference is not None]:
        yield _pair_table(pairs[:_PAIRS])


def _details(own: ReviewerSummary, summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the names of the rows and a reviewer's cells; every reviewer has the same rows in the same order."""
    yield "95%, pull requests like these", format_interval(own.overall.here)
    yield "95%, other repositories too", format_interval(own.overall.here and own.overall.interval)
    yield from _repeats(own)
    yield from _findings(own, summary)
    burden, damage, lift = own.burden, own.regressions, own.lift
    changed = bool(burden.added or burden.removed)
    yield "Revisions", str(burden.revisions) if changed else NOTHING
    yield "Lines added, removed", f"+{burden.added} -{burden.removed}" if changed else NOTHING
    yield "Broke passing tests", format_part(damage.broken, damage.measured)
    yield "Seconds per review", format_decimal(own.seconds_per_review, 1)
    yield "Input tokens per review", _tokens(own, "input_tokens")
    yield "Output tokens per review", _tokens(own, "output_tokens")
    yield "Cost (USD)", format_dollars(own.cost_usd)
    yield "Cost of failed attempts (USD)", format_dollars(own.failed_usd) if own.failed_usd else NOTHING
    yield "Steps of unknown cost", str(own.unpriced) if own.unpriced and own.cost_usd is not None else NOTHING
    caught = own.overall.caught
    each = own.cost_per_run / caught if own.cost_per_run and caught else None
    yield "USD per caught oracle", format_dollars(each, 3)
    yield "USD per net caught oracle", format_dollars(lift.cost_usd) if lift and lift.cost_usd else NOTHING
    yield "Seconds per net caught oracle", f"{lift.seconds:.0f}" if lift and lift.seconds is not None else NOTHING


def _tokens(own: ReviewerSummary, name: str) -> str:
    """Write the mean tokens of the reviews that report them."""
    found = [(getattr(one, name), one.steps) for one in own.usage if one.part == "review"]
    known = [(tokens, steps) for tokens, steps in found if tokens is not None]
    return f"{sum(tokens for tokens, _ in known) / sum(steps for _, steps in known):,.0f}" if known else NOTHING


def _repeats(own: ReviewerSummary) -> Iterator[tuple[str, str]]:
    steady = own.stability
    if own.resolvable is not None:
        yield "Caught of resolvable", of_resolvable(own)
    yield "Repeats", str(own.repeats) if own.repeats > 1 else NOTHING
    if steady is None:
        return
    if steady.reviews is not None:
        yield "Reviews of a pull request", str(steady.reviews)
        yield "Revisions of a review", str(own.repeats // steady.reviews)
    yield "Rates of the repeats (%)", f"{format_percent(min(steady.rates))}-{format_percent(max(steady.rates))}"
    yield "Standard deviation (points)", format_percent(steady.deviation)
    yield "Same verdict every time", f"{steady.stable}/{steady.oracles}"
    between = "revisions" if steady.reviews == 1 else "runs"
    yield f"Differ between 2 {between} (%)", format_percent(steady.flips)
    most = max(steady.pass_at, key=int)
    yield f"pass@{most} (%)", format_percent(steady.pass_at[most])
    for part in _PARTS:
        yield f"Variance: {part} (%)", f"{100 * steady.variance[part]:.0f}" if part in steady.variance else NOTHING


def _findings(own: ReviewerSummary, summary: Summary) -> Iterator[tuple[str, str]]:
    burden, clean = own.burden, own.clean
    repeated = any(one.repeats > 1 for one in summary.reviewers)
    yield "Findings, all repeats" if repeated else "Findings", str(burden.findings) if burden.findings else NOTHING
    yield "In reviews that caught nothing", str(burden.idle) if burden.findings else NOTHING
    effect = burden.without_effect
    yield "Without effect on any oracle", NOTHING if effect is None or not burden.findings else str(effect)
    yield "False alarms per clean PR", NOTHING if clean is None else format_decimal(clean.per_pull_request)
    yield "Clean PRs with a finding", NOTHING if clean is None else f"{clean.alarmed}/{clean.reviews}"
    points = {point for one in summary.reviewers for point in one.curve if point.isdigit()}
    for point in sorted(points, key=int):
        yield f"Rate, first {point} findings (%)", format_percent(own.curve.get(point))


def _pair_table(pairs: Sequence[Pair]) -> SummaryTable:
    heads = (
        "both",
        "1st only",
        "2nd only",
        "2nd - 1st",
        "95% interval",
        "p (Holm)",
        "kappa",
        "2nd costs USD",
        "interval over",
    )
    rows = [_pair_cells(pair) for pair in pairs]
    columns = [[head, *cells] for head, cells in zip(heads, zip(*rows, strict=True), strict=True)]
    names = [f"{ascii_line(pair.first)}, {ascii_line(pair.second)}" for pair in pairs]
    return SummaryTable(PAIRS, "Caught: 1st, 2nd", names, columns).without_empty()


def _pair_cells(pair: Pair) -> tuple[str, ...]:
    own = pair.comparison
    return (
        str(pair.both),
        str(pair.only_first),
        str(pair.only_second),
        format_points(own.difference),
        format_change_interval(own.interval),
        format_p(pair.p_holm),
        format_decimal(pair.kappa),
        format_dollars(pair.cost_of_second),
        NOTHING if own.interval is None else own.interval.basis,
    )
