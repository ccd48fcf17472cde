"""Recorded judgements as lines of text: a table for each judge, and how far judges agree."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_crab.formats import NOTHING, format_percent, format_table
from pytest_crab.results.judged_runs import JudgedRates, JudgedSummary
from pytest_crab.show.judge_text import agreement_line
from pytest_crab.text import one_line

_HEADS = (
    "reviewer", "known issues", "runs", "expected", "matched", "incorrect", "neutral", "precision", "recall", "F1",
    "F0.5", "F2", "false alarms",
)  # fmt: skip


def judged_lines(summary: JudgedSummary) -> Iterator[str]:
    """Yield the tables as text, names escaped."""
    yield one_line(f"{summary.benchmark}: recorded judgements; its file has {summary.golden}; nothing was run")
    yield from map(one_line, summary.notes)
    for judge in sorted({rates.judge for rates in summary.rates}):
        yield ""
        yield f"judge {one_line(judge)}, rates in percent"
        rows = [rates for rates in summary.rates if rates.judge == judge]
        own = 0 if {rates.golden for rates in rows} == {summary.golden} else 1
        yield from format_table([[*row[:1], *row[2 - own :]] for row in (_HEADS, *map(_cells, rows))])
        if judge in summary.union:
            yield f"found by any reviewer: {summary.union[judge]}"
    for one in summary.agreements:
        yield ""
        yield f"{agreement_line(one)}, each a known issue under one reviewer"


def _cells(rates: JudgedRates) -> list[str]:
    counts = [f"{value:g}" for value in (rates.expected, rates.matched, rates.incorrect, rates.neutral)]
    shares = (rates.precision, rates.recall, rates.f1, rates.f_half, rates.f2, rates.false_alarms)
    return [rates.reviewer, rates.golden, str(rates.runs), *counts, *(_percent(share) for share in shares)]


def _percent(share: float | None) -> str:
    return NOTHING if share is None else format_percent(share)
