"""A summary's tables with a column for each reviewer, as plain cells: terminal, Markdown and page show the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_crab.formats import NOTHING, format_decimal, format_dollars, format_number, format_percent
from pytest_crab.results.rates import Rate
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.text import ascii_line, one_line
from pytest_crab.types import ExplainedOutcome

#: The most characters of the heading of names: that of contamination has the whole name of a model.
LONGEST_HEAD = 50


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """A table."""

    #: What stands above the table where there is room for it.
    title: str
    #: The head over the names of the rows.
    head: str
    #: The names of the rows.
    names: Sequence[str]
    #: Columns, each of a head and as many cells as there are names.
    columns: Sequence[Sequence[str]]

    def without_empty(self) -> SummaryTable:
        """Return the table without the columns that have no number but 0 dollars."""
        shown = [column for column in self.columns if set(column[1:]) - {NOTHING, format_dollars(0)}]
        return SummaryTable(self.title, self.head, self.names, shown)


def rate_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield caught of known oracles by label, a table for each dimension that the set has."""
    for dimension, words in summary.dimensions().items():
        name = one_line(dimension, LONGEST_HEAD - len("by "))
        title, head = f"Caught of known {summary.many_counted} by {name}, with 95% intervals", f"by {name}"
        columns = _columns(words, summary.labelled(dimension), partial(_rate_of_label, dimension))
        yield SummaryTable(title, "Caught/known" if dimension == "category" else head, words, columns)


def explained_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield the rates by the explanations of verdicts, and how many verdicts have each explanation."""
    found = [(label(own), own.explained) for own in summary.reviewers if own.explained is not None]
    if found:
        title = "Oracles by the findings near their comments, with 95% intervals"
        rates = [[name, *map(rate_with_interval, own.rates().values())] for name, own in found]
        yield SummaryTable(title, "Near findings", list(found[0][1].rates()), rates)
        seen = [word.value for word in ExplainedOutcome if any(word.value in own.outcomes for _, own in found)]
        counts = [[name, *(str(own.outcomes.get(word, 0)) for word in seen)] for name, own in found]
        yield SummaryTable("Verdicts explained", "Explained", seen, counts)


def finding_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield the findings by label, a table for each dimension that findings have.

    Counts come first, then where they are known the share of oracles that such findings catch, and the burden: such
    findings per review that lead to nothing.
    """
    for dimension, words in summary.finding_dimensions().items():
        title = f"Findings by {one_line(dimension, 30)}"
        rows = {word: (partial(_findings_of_label, dimension), word) for word in words}
        rows |= {f"{one_line(word, 12)}: catch rate %": (partial(_catch_rate, dimension), word) for word in words}
        rows |= {f"{one_line(word, 12)}: burden per PR": (partial(_burden, dimension), word) for word in words}
        cells = {name: [cell(own, word) for own in summary.reviewers] for name, (cell, word) in rows.items()}
        names = [name for name, own in cells.items() if set(own) != {NOTHING}]
        columns = [[label(own), *(cells[name][at] for name in names)] for at, own in enumerate(summary.reviewers)]
        yield SummaryTable(title, title, names, columns)


def ruler_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield the table of each reviewer's means by ruler, where there is more than oracles."""
    rulers = list(dict.fromkeys(ruler for reviewer in summary.reviewers for ruler in reviewer.by_ruler))
    if rulers:
        columns = _columns(rulers, summary.reviewers, _mean_by_ruler)
        yield SummaryTable("Mean by ruler", "Mean by ruler", rulers, columns)


def _columns(
    names: Sequence[str], reviewers: Iterable[ReviewerSummary], cell: Callable[[ReviewerSummary, str], str]
) -> list[list[str]]:
    return [[label(own), *(cell(own, name) for name in names)] for own in reviewers]


def label(reviewer: ReviewerSummary) -> str:
    """Return the reviewer's name, with a star if it is shown the answer, and a tilde if it may have read it."""
    return name_with_marks(reviewer.reviewer, reviewer.privileged, reviewer.leaky)


def name_with_marks(reviewer: str, privileged: Sequence[str], leaky: Sequence[str]) -> str:
    """Return a reviewer's name with the marks that ``label`` puts behind it."""
    return ascii_line(reviewer) + ("*" if reviewer in privileged else "") + ("~" if reviewer in leaky else "")


def rate_cell(rate: Rate) -> str:
    """Write caught of known oracles, as 8/10; a dash where none is known."""
    return f"{format_number(rate.caught)}/{rate.known}" if rate.known else NOTHING


def _findings_of_label(dimension: str, reviewer: ReviewerSummary, word: str) -> str:
    """Write the findings with one label, as 12 40.0%, of all with a label of this dimension."""
    counts = {name: own.findings for name, own in reviewer.findings_by_label.get(dimension, {}).items()}
    if not counts:
        return NOTHING
    return f"{counts.get(word, 0)} {format_percent(counts.get(word, 0) / sum(counts.values()))}%"


def _catch_rate(dimension: str, reviewer: ReviewerSummary, word: str) -> str:
    own = reviewer.findings_by_label.get(dimension, {}).get(word)
    return NOTHING if own is None else format_percent(own.catch_rate)


def _burden(dimension: str, reviewer: ReviewerSummary, word: str) -> str:
    own = reviewer.findings_by_label.get(dimension, {}).get(word)
    return NOTHING if own is None else format_decimal(own.burden)


def _rate_of_label(dimension: str, reviewer: ReviewerSummary, word: str) -> str:
    """Write the rate of one label with its interval, as 8/10 80.0% (44-97)."""
    rate = reviewer.by_label.get(dimension, {}).get(word)
    return NOTHING if rate is None else rate_with_interval(rate)


def rate_with_interval(rate: Rate) -> str:
    """Write a rate with its interval, as 8/10 80.0% (44-97)."""
    if rate.micro is None and rate.known:
        return f"{format_percent(rate.low)} to {format_percent(rate.high)}%"
    if not rate.known:
        return NOTHING
    interval = rate.interval
    ends = "" if interval is None else f" ({100 * interval.low:.0f}-{100 * interval.high:.0f})"
    return f"{rate_cell(rate)} {format_percent(rate.micro)}%{ends}"


def _mean_by_ruler(reviewer: ReviewerSummary, ruler: str) -> str:
    """Write the mean of a reviewer's comments by a ruler, as 61.5% of 39."""
    own = reviewer.by_ruler.get(ruler)
    return NOTHING if own is None or own.mean is None else f"{format_percent(own.mean)}% of {own.comments}"
