"""The files of a report that are for people and spreadsheets, made from its records and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_crab.report import markdown
from pytest_crab.report import tables
from pytest_crab.report.files import read_trials
from pytest_crab.report.markdown import write_markdown
from pytest_crab.report.page import write_page
from pytest_crab.report.summary import Summary
from pytest_crab.report.tables import write_csv


def render(report: Path, summary: Summary) -> Sequence[Path]:
    """Write index.html, summary.md and oracles.csv beside a report's trials.jsonl; returns their paths.

    Trials are read one at a time. Raises BadInput, OSError.
    """
    write_csv(report / tables.FILE, read_trials(report / "trials.jsonl"))
    write_markdown(report / markdown.FILE, summary)
    return (write_page(report, summary), report / markdown.FILE, report / tables.FILE)
