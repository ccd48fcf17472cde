"""Probes one by one: as the cases of the JUnit file, with a suite for each answerer, and for the command show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crab.benchmarks.codereviewqa.records import FILE, ProbeRecord, read_records
from pytest_crab.benchmarks.codereviewqa.runner import explain
from pytest_crab.benchmarks.codereviewqa.summary import ProbeSummary
from pytest_crab.results.loading import find_file
from pytest_crab.show.junit import case_of, suite_of
from pytest_crab.text import one_line

if TYPE_CHECKING:
    from junitparser import TestCase, TestSuite


def suites_of(summary: ProbeSummary, records: Iterable[ProbeRecord], misses: str) -> Iterator[TestSuite]:
    """Yield a suite for each answerer."""
    cases: dict[str, list[TestCase]] = {}
    for record in records:
        cases.setdefault(record.answerer, []).extend(_cases(record, misses))
    for own in summary.answerers:
        rates = {"rate": own.overall.micro, "macro": own.overall.macro, "known": own.overall.known}
        properties = {"measure": own.measure, "wording": own.wording, **rates, "cost_usd": own.cost_usd}
        yield suite_of(own.answerer, properties, cases[own.answerer])


def shown(name: str, report: Path) -> Iterator[str]:
    """Yield lines on the records that INSTANCE::ANSWERER[N] names; without an answerer all of the instance."""
    file = find_file(report, FILE)
    instance, _, answerer = name.partition("::")
    for record in () if file is None else read_records(file):
        named = {"", record.answerer, f"{record.answerer}[{record.repeat}]"}
        if record.instance.startswith(instance) and answerer in named:
            yield from explain(record)
            for result in record.results:
                if result.letters:
                    yield f"  letters of {result.probe} by {record.measure}, {record.wording}: {result.letters}"


def _cases(record: ProbeRecord, misses: str) -> Iterator[TestCase]:
    repeat = f"[{record.repeat}]" if record.repeat > 1 else ""
    seconds = record.seconds / max(1, len(record.results))
    body = "\n".join(explain(record))
    for result in record.results:
        message = one_line(f"{result.reason}: {result.detail}" if result.detail else result.reason)
        yield case_of(f"{result.probe}{repeat}", record.instance, seconds, result.reason, message, body, misses)
