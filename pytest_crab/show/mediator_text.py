"""Several agents on the same reviews, as a table and sentences for a terminal, summary.md and the page."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_crab.formats import (
    NOTHING,
    format_count,
    format_decimal,
    format_number,
    format_percent,
    format_whole_percent,
)
from pytest_crab.results.mediators import FROM_HUMAN
from pytest_crab.results.summary import Summary
from pytest_crab.show.summary_tables import SummaryTable
from pytest_crab.statistics.rank_agreement import RankAgreement
from pytest_crab.statistics.shares import Share
from pytest_crab.text import ascii_line


def ranks_text(ranks: RankAgreement) -> str:
    """Return a tau-b with its interval, as 0.80 (0.33 to 1.00); a dash where there is none."""
    if ranks.tau is None:
        return NOTHING
    between = (
        ""
        if ranks.low is None or ranks.high is None
        else f" ({format_decimal(ranks.low)} to {format_decimal(ranks.high)})"
    )
    return f"{format_decimal(ranks.tau)}{between}"


def mediator_tables(summary: Summary) -> Iterator[SummaryTable]:
    """Yield the table of agents, where several acted on the same reviews.

    A column is an agent: its rate by reviewer, their mean, and the human's comments that it resolves. What no agent has
    a number for is left out.
    """
    found = summary.mediators
    if found is None:
        return
    rows = {
        **{reviewer: [_percent(own.rates.get(reviewer)) for own in found.agents] for reviewer in found.reviewers},
        "mean": [_percent(own.mean) for own in found.agents],
        FROM_HUMAN: [_share(own.human) for own in found.agents],
    }
    known = {name: cells for name, cells in rows.items() if set(cells) != {NOTHING}}
    columns = [[own.agent, *(cells[at] for cells in known.values())] for at, own in enumerate(found.agents)]
    if known:
        yield SummaryTable("Rates by agent on the same reviews", "Rate by agent", list(known), columns)


def mediator_lines(summary: Summary) -> Iterator[str]:
    """Yield how much of a verdict is the reviewer's and how much the agent's, and how far agents rank alike."""
    found = summary.mediators
    if found is None:
        return
    agents = format_count(len(found.agents), "agent")
    if not found.oracles:
        why = (
            f"no {found.counted} is known of every reviewer with each of them"
            if found.reviewers
            else "there is no reviewer to compare, since controls and those that are shown the answer are left out"
        )
        yield f"{agents} on the same reviews: {why}"
        return
    known = f"{agents} on the same reviews, over {format_count(found.oracles, found.counted)} known of all"
    if found.shares:
        shares = ", ".join(f"{name} {format_whole_percent(share)}" for name, share in found.shares.items())
        yield f"{known}: variance of a verdict: {shares}"
    else:
        yield f"{known}: all verdicts are the same"
    for pair in found.pairs:
        if pair.ranks.tau is not None:
            names = f"{ascii_line(pair.one)} and {ascii_line(pair.other)}"
            reviewers = format_count(len(found.reviewers), "reviewer")
            yield f"rank agreement of {names} on {reviewers}: tau-b {ranks_text(pair.ranks)}"


def _percent(rate: float | None) -> str:
    return NOTHING if rate is None else f"{format_percent(rate)}%"


def _share(own: Share | None) -> str:
    return NOTHING if own is None else f"{format_number(own.part)}/{own.known} {_percent(own.rate)}"
