"""Scores by SWE-PRBench's rule as lines of text: of stored reviews, and of the reports of its harness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crab.benchmarks.sweprbench.measures import RELEASE, ScoreSummary
from pytest_crab.benchmarks.sweprbench.reports import has_reports, read_reports
from pytest_crab.benchmarks.sweprbench.scored_reviews import (
    PrbenchReport,
    PrbenchReviewer,
    recorded_lines,
    recorded_report,
)
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_table
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.text import one_line

_HEADS = (
    "reviewer", "reviews", "weighted", "95%", "mean", "recall", "precision", "alignment", "actionability",
    "hallucination", "redundancy", "plausible", "F1",
)  # fmt: skip


def prbench_lines(found: PrbenchReport) -> Iterator[str]:
    """Yield the table of reviewers, by difficulty too, and what else has to be said of their scores."""
    reviews = format_count(len(found.reviews), "review")
    headline = "mean" if found.rule == RELEASE else "weighted"
    yield f"{one_line(found.judge)}: {reviews}; {headline} is the rule's result"
    rows = [row for one in found.reviewers for row in _rows(one)]
    yield from format_table([_HEADS, *rows])
    for one in found.reviewers:
        counts = {
            "without a finding, which score 0": one.silent,
            "that could not be read, which score 0": one.unreadable,
            "with an answer of the judge that could not be read, which score half": one.fallbacks,
        }
        for what, count in counts.items():
            if count:
                yield f"  {one_line(one.reviewer)}: {format_count(count, 'review')} {what}"
    for reason, count in found.left_out.items():
        yield f"  {format_count(count, 'review')} not scored: {one_line(reason, 200)}"


def _rows(one: PrbenchReviewer) -> Iterator[list[str]]:
    yield [one_line(one.reviewer, 60), *_cells(one.summary)]
    for difficulty, summary in one.by_difficulty.items():
        yield [f"- {one_line(difficulty, 60)}", *_cells(summary)]


def _cells(own: ScoreSummary) -> Iterator[str]:
    yield str(own.reviews)
    yield format_decimal(own.weighted, 3)
    yield NOTHING if own.low is None else f"{own.low:.3f} to {own.high:.3f}"
    means = own.means
    numbers: Sequence[float] = (
        means.overall, means.recall, means.precision, means.alignment, means.actionability, means.hallucination,
        means.redundancy, means.plausible_penalty, means.f1,
    )  # fmt: skip
    yield from (format_decimal(number, 3) for number in numbers)


def recorded(folder: Path) -> RecordedResults | None:
    """Return the scores of the harness's reports; None where the folder holds none."""
    if not has_reports(folder):
        return None

    def report() -> Told:
        scores = read_reports(folder)
        scored = recorded_report(scores)
        heading = "SWE-PRBench: recorded judgements, scored again; nothing was run"
        return scored, [heading, *prbench_lines(scored), *recorded_lines(scores, scored)]

    return RecordedResults(report=report)
