"""The section of a report's page on probes: the rates of answerers, and each question with the answers to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crab.benchmarks.codereviewqa.choice_statistics import chosen_options
from pytest_crab.benchmarks.codereviewqa.records import FILE, AskedRow, ProbeRecord, read_records, read_rows
from pytest_crab.benchmarks.codereviewqa.summary import SUMMARY, read_probe_summary
from pytest_crab.benchmarks.codereviewqa.tables import rates_table, sentences, tables
from pytest_crab.formats import format_count
from pytest_crab.show.page.more import Entry, Section
from pytest_crab.show.summary_tables import SummaryTable
from pytest_crab.text import one_line
from pytest_crab.types import Verdict


def section(report: Path) -> Section | None:
    """Return the section on a report's folder; None where no probe was asked. Raises BadInput."""
    if not (report / SUMMARY).is_file() or not (report / FILE).is_file():
        return None
    summary = read_probe_summary(report / SUMMARY)
    by_instance: dict[str, list[ProbeRecord]] = {}
    for record in read_records(report / FILE):
        by_instance.setdefault(record.instance, []).append(record)
    rows = {row.instance: row for row in read_rows(report)}
    return Section(
        anchor="probes",
        title="Probes",
        lines=[
            "The rate is the share of probes that are answered correctly in every order of their options.",
            *([] if summary.gate is None else [summary.gate.paragraph]),
            *sentences(summary),
        ],
        tables=[rates_table(summary), *tables(summary)],
        listed="Questions and answers",
        entries=[_entry(records, rows.get(instance)) for instance, records in by_instance.items()],
    )


def _entry(records: Sequence[ProbeRecord], row: AskedRow | None) -> Entry:
    """Return an instance's entry; without its questions it has the verdicts alone."""
    results = [result for record in records for result in record.results]
    words = (
        format_count(count, "probe") + f" {verdict}"
        for verdict in Verdict
        if (count := sum(result.verdict is verdict for result in results))
    )
    comment = "" if row is None else f" ({one_line(row.comment, 80)})"
    return Entry(
        title=f"{records[0].instance}{comment}: {', '.join(words)}",
        text="" if row is None else f"{row.code}\n\n{row.comment}",
        tables=list(_probe_tables(records, row)),
    )


def _probe_tables(records: Sequence[ProbeRecord], row: AskedRow | None) -> Iterator[SummaryTable]:
    """Yield a table for each probe: a row for each option, and how often each answerer chose it."""
    for probe in dict.fromkeys(result.probe for record in records for result in record.results):
        found = {
            f"{record.answerer}{f'[{record.repeat}]' if record.repeat > 1 else ''}": result
            for record in records
            for result in record.results
            if result.probe == probe
        }
        options = () if row is None else row.options.get(probe, ())
        counts = {
            name: Counter(chosen_options(one.letters)) if one.letters else Counter() for name, one in found.items()
        }
        columns = [
            [name, *(str(counts[name][at]) for at in range(len(options))), str(counts[name][None]), one.verdict]
            for name, one in found.items()
        ]
        names = [f"{option} (correct)" if not at else option for at, option in enumerate(options)]
        question = "" if row is None else f": {row.questions.get(probe, '')}"
        yield SummaryTable(probe, f"{probe}{question}", [*names, "no answer", "verdict"], columns)
