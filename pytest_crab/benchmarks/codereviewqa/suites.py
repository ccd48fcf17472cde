"""Probes one by one: as the cases of the JUnit file, with a suite for each answerer, and for the command show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crab.benchmarks.codereviewqa.choice_statistics import chosen_options
from pytest_crab.benchmarks.codereviewqa.records import FILE, AskedRow, ProbeRecord, read_records, read_rows
from pytest_crab.benchmarks.codereviewqa.runner import explain
from pytest_crab.benchmarks.codereviewqa.summary import ProbeSummary
from pytest_crab.formats import format_count
from pytest_crab.registry import Shown
from pytest_crab.results.loading import find_file
from pytest_crab.show.junit import case_of, gate_suite, suite_of
from pytest_crab.text import one_line

if TYPE_CHECKING:
    from junitparser import TestCase, TestSuite

#: The name of the suite with the rulings on answerers.
GATE = "gate on answerers"


def suites_of(summary: ProbeSummary, records: Iterable[ProbeRecord], misses: str) -> Iterator[TestSuite]:
    """Yield the suite of the gate on answerers, if there was one, and a suite for each answerer."""
    if summary.gate is not None:
        yield gate_suite(GATE, summary.gate)
    cases: dict[str, list[TestCase]] = {}
    for record in records:
        cases.setdefault(record.answerer, []).extend(_cases(record, misses))
    for own in summary.answerers:
        rates = {"rate": own.overall.micro, "macro": own.overall.macro, "known": own.overall.known}
        properties = {"measure": own.measure, "wording": own.wording, **rates, "cost_usd": own.cost_usd}
        yield suite_of(own.answerer, properties, cases[own.answerer])


def shown(name: str, report: Path) -> Iterator[Shown]:
    """Yield what is on the records that INSTANCE::ANSWERER[N] names; without an answerer all of the instance."""
    file = find_file(report, FILE)
    instance, _, answerer = name.partition("::")
    if file is None:
        return
    rows = {row.instance: row for row in read_rows(file.parent)}
    for record in read_records(file):
        named = {"", record.answerer, f"{record.answerer}[{record.repeat}]"}
        if record.instance.startswith(instance) and answerer in named:
            letters = [
                f"  letters of {result.probe} by {record.measure}, {record.wording}: {result.letters}"
                for result in record.results
                if result.letters
            ]
            asked = _asked(record, rows[record.instance]) if record.instance in rows else []
            yield Shown([*explain(record), *letters], list(asked), record.transcripts, file.parent)


def _asked(record: ProbeRecord, row: AskedRow) -> Iterator[str]:
    """Yield the code, the comment, and each question with how often each of its options was chosen."""
    yield from ("", *row.code.split("\n"), "", *row.comment.split("\n"))
    for result in record.results:
        yield from ("", f"{result.probe}:", *row.questions.get(result.probe, "").split("\n"))
        chosen = Counter(chosen_options(result.letters)) if result.letters else Counter()
        for at, option in enumerate(row.options.get(result.probe, ())):
            yield f"  chosen {format_count(chosen[at], 'time')}{'' if at else ' (correct)'}: {one_line(option, 500)}"


def _cases(record: ProbeRecord, misses: str) -> Iterator[TestCase]:
    repeat = f"[{record.repeat}]" if record.repeat > 1 else ""
    seconds = record.seconds / max(1, len(record.results))
    body = "\n".join(explain(record))
    for result in record.results:
        message = one_line(f"{result.reason}: {result.detail}" if result.detail else result.reason)
        yield case_of(f"{result.probe}{repeat}", record.instance, seconds, result.reason, message, body, misses)
