"""AACR-Bench's submissions as recorded results: matched by place, or as a report."""

from __future__ import annotations

from pathlib import Path

from pytest_crab.benchmarks.aacr.match_text import match_lines
from pytest_crab.benchmarks.aacr.matching import match_reviews
from pytest_crab.benchmarks.aacr.submissions import has_submissions, read_submissions
from pytest_crab.results.recorded_results import RecordedResults, Told


def recorded(folder: Path) -> RecordedResults | None:
    """Return the submissions in a checkout of the leaderboard or in a set; None where there is none."""
    if not has_submissions(folder):
        return None

    def report() -> Told:
        matched = match_reviews(read_submissions(folder), "paper")
        return matched, match_lines(matched)

    return RecordedResults(report=report, reviews=lambda: (read_submissions(folder), ""))
