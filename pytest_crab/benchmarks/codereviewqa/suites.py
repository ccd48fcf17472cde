"""The answerers of a run as suites of the JUnit file: a case for each probe, and the rates as properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pytest_crab.benchmarks.codereviewqa.records import ProbeRecord
from pytest_crab.benchmarks.codereviewqa.runner import explain
from pytest_crab.benchmarks.codereviewqa.summary import ProbeSummary
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


def _cases(record: ProbeRecord, misses: str) -> Iterator[TestCase]:
    repeat = f"[{record.repeat}]" if record.repeat > 1 else ""
    seconds = record.seconds / max(1, len(record.results))
    body = "\n".join(explain(record))
    for result in record.results:
        message = one_line(f"{result.reason}: {result.detail}" if result.detail else result.reason)
        yield case_of(f"{result.probe}{repeat}", record.instance, seconds, result.reason, message, body, misses)
