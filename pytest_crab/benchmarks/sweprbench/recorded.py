"""Reports of SWE-PRBench's harness as recorded results, scored again."""

from __future__ import annotations

from pathlib import Path

from pytest_crab.benchmarks.sweprbench.reports import has_reports, read_reports
from pytest_crab.benchmarks.sweprbench.tables import recorded_lines, recorded_report
from pytest_crab.benchmarks.sweprbench.text import prbench_lines
from pytest_crab.results.recorded_results import RecordedResults, Told


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
