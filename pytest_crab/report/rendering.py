"""The files of a report beside its records: the numbers, and what is for people and spreadsheets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.report import markdown
from pytest_crab.report import tables
from pytest_crab.report.files import read_trials
from pytest_crab.report.files import write_summary
from pytest_crab.report.loading import SUMMARY
from pytest_crab.report.loading import TRIALS
from pytest_crab.report.markdown import write_markdown
from pytest_crab.report.page import FILE
from pytest_crab.report.page import Page
from pytest_crab.report.page import open_page
from pytest_crab.report.summary import Gate
from pytest_crab.report.summary import Summary
from pytest_crab.report.summary import summarise
from pytest_crab.report.tables import write_csv
from pytest_crab.types import Trial


def remake(report: Path, *, errors_as_misses: bool, gate: Gate | None = None) -> Summary:
    """Make summary.json and the other files of a report anew from its trials.jsonl; returns the summary.

    ``gate`` is what an earlier run's gate decided. Raises BadInput, OSError.
    """
    summary = summarise(read_trials(report / TRIALS), errors_as_misses=errors_as_misses)
    summary = dataclasses.replace(summary, gate=gate)
    write_summary(report / SUMMARY, summary)
    render(report, summary)
    return summary


def render(report: Path, summary: Summary) -> Path:
    """Write index.html, summary.md and oracles.csv beside a report's trials.jsonl; returns the page's path.

    Trials are read once, one at a time. Raises BadInput, OSError.
    """
    write_markdown(report / markdown.FILE, summary)
    with open_page(report) as page:
        write_csv(report / tables.FILE, _shown(read_trials(report / TRIALS), page))
        page.write(summary)
    return report / FILE


def _shown(trials: Iterator[Trial], page: Page) -> Iterator[Trial]:
    for trial in trials:
        page.add(trial)
        yield trial
