"""The files of a report beside its records: the numbers, and what is for people and spreadsheets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.garbage import no_collection
from pytest_crab.results import oracle_rows
from pytest_crab.results.files import read_trials, write_summary
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.loading import SUMMARY, TRIALS
from pytest_crab.results.oracle_rows import write_csv
from pytest_crab.results.run_progress import remove_dead_run
from pytest_crab.results.summary import Summary, SummaryBuilder
from pytest_crab.show import markdown
from pytest_crab.show.markdown import write_markdown
from pytest_crab.show.page import FILE, Page, open_page
from pytest_crab.types import Trial


def remake(
    report: Path,
    *,
    errors_as_misses: bool,
    shard: str | None = None,
    gate: Gate | None = None,
    all_pairs: bool = False,
) -> Summary:
    """Make summary.json and the other files of a report anew from its trials.jsonl; returns the summary.

    ``shard`` is the part of a run that it is, ``gate`` what an earlier run's gate decided; ``all_pairs`` of reviewers
    are compared, however many there are. Trials are read once, one at
    a time. Raises BadInput, OSError.
    """
    summing = SummaryBuilder()
    with no_collection(), open_page(report) as page:
        write_csv(report / oracle_rows.FILE, _pass_to(report, page, summing))
        found = summing.summary(errors_as_misses=errors_as_misses, all_pairs=all_pairs)
        del summing  # it holds a row of each trial, and the page has those of its own
        summary = dataclasses.replace(found, shard=shard, gate=gate)
        write_summary(report / SUMMARY, summary)
        write_markdown(report / markdown.FILE, summary)
        page.write(summary)
    remove_dead_run(report)
    return summary


def render(report: Path, summary: Summary) -> Path:
    """Write index.html, summary.md and oracles.csv beside a report's trials.jsonl; returns the page's path.

    Trials are read once, one at a time. Raises BadInput, OSError.
    """
    write_markdown(report / markdown.FILE, summary)
    with no_collection(), open_page(report) as page:
        write_csv(report / oracle_rows.FILE, _pass_to(report, page))
        page.write(summary)
    return report / FILE


def _pass_to(report: Path, *takers: Page | SummaryBuilder) -> Iterator[Trial]:
    """Yield a report's trials, each after it was added to every taker."""
    for trial in read_trials(report / TRIALS):
        for taker in takers:
            taker.add(trial)
        yield trial
