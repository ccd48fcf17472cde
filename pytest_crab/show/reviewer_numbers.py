"""The numbers of one reviewer, and the tables that show each: the terminal's, Markdown's and the page's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_crab.formats import (
    NOTHING,
    format_change_interval,
    format_decimal,
    format_dollars,
    format_interval,
    format_number,
    format_part,
    format_percent,
    format_points,
)
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.summary_tables import SummaryTable, label, rate_cell
from pytest_crab.types import Kind

#: Writes one number of a reviewer; NOTHING where it has none.
Cell = Callable[[ReviewerSummary], str]


def _rate(one: ReviewerSummary) -> str:
    return format_percent(one.overall.micro)


def _caught(one: ReviewerSummary) -> str:
    return rate_cell(one.overall)


def _macro(one: ReviewerSummary) -> str:
    return format_percent(one.overall.macro)


def _unknown(one: ReviewerSummary) -> str:
    return str(one.overall.unknown)


def _of_kind(kind: Kind) -> Cell:
    return lambda one: format_percent(one.by_kind[kind.value].micro) if kind.value in one.by_kind else NOTHING


def of_resolvable(one: ReviewerSummary) -> str:
    """Write the rate over those oracles that the agent resolves from the human's comment."""
    rate = one.resolvable
    return NOTHING if rate is None else f"{rate_cell(rate)} {format_percent(rate.micro)}%"


def _comments(one: ReviewerSummary) -> str:
    return format_number(one.comments)


def _comments_per_pull_request(one: ReviewerSummary) -> str:
    return format_decimal(one.comments_per_pull_request, 1)


def _lift(one: ReviewerSummary) -> str:
    if one.lift is None:
        return NOTHING
    own = one.lift.comparison
    if own.interval is None:
        return format_points(own.difference)
    alike = own.interval.low == own.interval.high
    ends = "alike everywhere" if alike else f"95%: {format_change_interval(own.interval)}"
    return f"{format_points(own.difference)} ({ends})"


#: The columns of the terminal's table, by their heads; there is room for 80 characters.
TERMINAL: Mapping[str, Cell] = {
    "Caught": _caught,
    "Rate %": _rate,
    "95%": lambda one: format_interval(one.overall.interval),
    "Macro": _macro,
    "Behav.": _of_kind(Kind.BEHAVIORAL),
    "Struct.": _of_kind(Kind.STRUCTURAL),
    "Comments": _comments,
    "Per PR": _comments_per_pull_request,
    "Unknown": _unknown,
}

#: Those of Markdown and of a notebook.
MARKDOWN: Mapping[str, Cell] = {
    "Comments": _comments,
    "Per PR": _comments_per_pull_request,
    "Behavioral %": _of_kind(Kind.BEHAVIORAL),
    "Structural %": _of_kind(Kind.STRUCTURAL),
    "Overall %": _rate,
    "95% interval": lambda one: format_interval(one.overall.interval, " to "),
    "Caught / known": _caught,
    "Unknown": _unknown,
}

#: Those of the page.
PAGE: Mapping[str, Cell] = {
    "Rate %": _rate,
    "95%, pull requests like these": lambda one: format_interval(one.overall.here or one.overall.interval, " to "),
    "95%, other repositories too": lambda one: format_interval(one.overall.here and one.overall.interval, " to "),
    "Caught / known": _caught,
    "Unknown": _unknown,
    "Comments per PR": _comments_per_pull_request,
    "Idle findings %": lambda one: format_percent(idle_share(one)),
    "USD": lambda one: format_dollars(one.cost_usd),
    "Net lift, points": _lift,
    "Of resolvable": of_resolvable,
    "Behavioral %": _of_kind(Kind.BEHAVIORAL),
    "Structural %": _of_kind(Kind.STRUCTURAL),
    "Mean over PRs %": _macro,
    "Bounds %": lambda one: f"{format_percent(one.overall.low)} to {format_percent(one.overall.high)}",
    "Broke tests": lambda one: format_part(one.regressions.broken, one.regressions.measured, " of "),
    "Comments": _comments,
}


def terminal_table(summary: Summary) -> SummaryTable:
    """Return the terminal's table; what is unknown has a column only where anything is."""
    heads = [head for head in TERMINAL if head != "Unknown" or any(one.overall.unknown for one in summary.reviewers)]
    return _table(summary, {head: TERMINAL[head] for head in heads})


def page_table(summary: Summary) -> SummaryTable:
    """Return the page's table, without the columns that no reviewer has a number for."""
    return _table(summary, PAGE).without_empty()


def markdown_rows(summary: Summary) -> Iterator[list[str]]:
    """Yield the rows of Markdown's table, its heads first."""
    yield ["Reviewer", *MARKDOWN]
    for one in summary.reviewers:
        yield [label(one), *(cell(one) for cell in MARKDOWN.values())]


def idle_share(one: ReviewerSummary) -> float | None:
    """Return the share of findings in reviews after which no oracle was caught; None if there were no findings."""
    return one.burden.idle / one.burden.findings if one.burden.findings else None


def _table(summary: Summary, cells: Mapping[str, Cell]) -> SummaryTable:
    columns = [[head, *map(cell, summary.reviewers)] for head, cell in cells.items()]
    return SummaryTable("Rates", "Reviewer", [label(one) for one in summary.reviewers], columns)
