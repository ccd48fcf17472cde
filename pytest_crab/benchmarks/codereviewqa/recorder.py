"""The record of the probes of a run: its files beside the report, and what is printed."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_crab.benchmarks.codereviewqa.agents import agent_lines
from pytest_crab.benchmarks.codereviewqa.asking import chosen_probes, unasked_record
from pytest_crab.benchmarks.codereviewqa.choices.questions import asked_row
from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer
from pytest_crab.benchmarks.codereviewqa.records import FILE, ROWS, AskedRow, ProbeReason, ProbeRecord
from pytest_crab.benchmarks.codereviewqa.runner import CARRIED, ProbeItem
from pytest_crab.benchmarks.codereviewqa.suites import suites_of
from pytest_crab.benchmarks.codereviewqa.summary import SUMMARY, ProbeSummary, summarise_probes
from pytest_crab.benchmarks.codereviewqa.tables import missed_text, probe_lines, probe_markdown
from pytest_crab.errors import SourceError
from pytest_crab.gate.results import worse_status
from pytest_crab.plugin.item_records import ItemRecords
from pytest_crab.plugin.items import Planned
from pytest_crab.plugin.kinds import Run
from pytest_crab.plugin.statuses import MISSED, SHOWN_MISSES, Sections, Status, status_of
from pytest_crab.results.files import write_data, write_records, write_report_file
from pytest_crab.results.summary import Summary
from pytest_crab.show.page import FILE as PAGE, open_page
from pytest_crab.types import TrialId, Verdict

if TYPE_CHECKING:
    from junitparser import TestSuite

    from pytest_crab.benchmarks.codereviewqa.gate import ProbeGate

#: The results in words, beside the report.
TEXT = "probes.md"


class ProbeRecorder(ItemRecords[ProbeRecord]):
    """Records as reports arrive, completes the record and prints the results; registered on the controller."""

    kind = ProbeItem
    carried = CARRIED
    file = FILE
    lost = "the worker process that asked these died; run again, stored answers are kept"

    def __init__(
        self,
        run: Run,
        answerers: Mapping[str, NamedAnswerer],
        probes: Sequence[str],
        gate: ProbeGate | None,
        config: pytest.Config,
    ) -> None:
        super().__init__(answerers, run.options, config)
        self.summary: ProbeSummary | None = None
        self._probes = probes
        self._has_reviewers = bool(run.reviewers)
        self._gate = gate
        self._records: list[ProbeRecord] = []
        self._sections = Sections(lambda report: report.nodeid in self._reported)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, object, object]:
        """Complete the record, have the gate decide, and write the files: the page and the JUnit file need them.

        Where reviewers have a gate too, the worse of both decides.
        """
        self._complete(int(exitstatus))
        result = yield
        if self.summary is not None and self.summary.gate is not None:
            own = self.summary.gate.exit_code
            session.exitstatus = worse_status(int(session.exitstatus), own) if self._has_reviewers else own
        report = self._options.report
        if self.summary is not None and not self._has_reviewers:
            with open_page(report) as page:
                self.write(report / PAGE, lambda: page.write(Summary()))
        return result

    def _complete(self, exitstatus: int) -> None:
        """Complete the record with what was not asked, have the gate decide, and write the files."""
        if self._log is not None:
            self._log.close()
        records = self._in_order(complete=bool(self._reported) or exitstatus != pytest.ExitCode.USAGE_ERROR)
        if not records:
            return
        report, options = self._options.report, self._options
        summary = summarise_probes(records, errors_as_misses=options.errors_as_misses, shard=options.part)
        planned = [one for one in map(self._planned.find, self._planned) if one is not None]
        self.write(report / FILE, lambda: write_records(report / FILE, records))
        self.write(report / ROWS, lambda: write_records(report / ROWS, self._rows(planned)))
        if self._gate is not None:
            names: dict[str, set[str]] = {}
            for one in planned:
                names.setdefault(one.trial_id.reviewer, set()).add(one.instance.id)
            summary = replace(summary, gate=self._gate.decide(exitstatus, summary, names, problems=self.problems))
        self.summary, self._records = summary, records
        self.write(report / SUMMARY, lambda: write_data(report / SUMMARY, summary))
        text = "\n".join(probe_markdown(summary)).encode() + b"\n"
        self.write(report / TEXT, lambda: write_report_file(report / TEXT, [text]))

    def _rows(self, planned: Iterable[Planned]) -> Iterator[AskedRow]:
        """Yield what was asked of each instance, as far as its files are still there."""
        for instance in {one.instance.id: one.instance for one in planned}.values():
            with contextlib.suppress(SourceError):
                yield asked_row(instance, chosen_probes(instance, self._probes))

    def _in_order(self, *, complete: bool) -> list[ProbeRecord]:
        """Return the records in the order of their items; with ``complete`` one for each item that has none."""
        found: dict[TrialId, ProbeRecord] = {}
        for node in self._planned:
            record = self._reported.get(node)
            planned = None if record is not None or not complete else self._planned.find(node)
            if planned is not None:
                fault = self._faults.get(node)
                record = unasked_record(
                    planned.instance,
                    planned.trial_id.reviewer,
                    ProbeReason.NOT_RUN if fault is None else ProbeReason.BROKEN,
                    fault or "the run ended before it",
                    probes=self._probes,
                    repeat=planned.trial_id.repeat,
                )
            if record is not None:
                found.setdefault(record.id, record)
        return list(found.values())

    # --- what is printed --------------------------------------------------------------------------------------------

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> Status | None:
        """Say whether an instance's probes were caught, missed or unknown; in verbose output how many."""
        record = self._reported.get(report.nodeid)
        if record is None:
            return None
        unknown = len(record.having(Verdict.UNKNOWN))
        text = f"{len(record.having(Verdict.CAUGHT))}/{len(record.results)} caught"
        return status_of(report, text + (f", {unknown} unknown" if unknown else ""))

    @pytest.hookimpl(optionalhook=True)
    def pytest_crab_junit_suites(self, misses: str) -> Iterable[TestSuite]:
        """Return a suite for each answerer."""
        return () if self.summary is None else suites_of(self.summary, self._records, misses)

    @pytest.hookimpl(optionalhook=True)
    def pytest_crab_summary_lines(self, summary: Summary) -> list[str]:
        """Return how agents of the run's reviewers answer, where there are answerers of the same names."""
        return [] if self.summary is None else list(agent_lines(summary, self.summary))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
        """Print the results; many misses are counted here, and not shown one by one."""
        quiet = self._config.get_verbosity() <= 0 and self._config.option.tbstyle == "auto"
        misses = self._sections.own(terminalreporter, MISSED)
        hidden = misses if quiet and len(misses) > SHOWN_MISSES else []
        self._sections.show(terminalreporter, hidden)
        result = yield
        self._sections.end(terminalreporter, "instance")
        self._print(terminalreporter, hidden)
        return result

    def _print(self, reporter: pytest.TerminalReporter, hidden: Sequence[pytest.TestReport]) -> None:
        if self.summary is None or self._config.option.no_summary:
            return
        if reporter.verbosity >= -1:
            reporter.write_sep("=", "results of answerers")
            for line in probe_lines(self.summary, reporter._tw.fullwidth):  # noqa: SLF001 - the only way to the width
                reporter.write_line(line.text, **({line.style: True} if line.style else {}))
            if hidden:
                reporter.write_line(missed_text(hidden))
            reporter.write_line(f"probes: {self._options.report / TEXT} (records: {FILE} beside it)")
        for text in () if self._gate is None else self._gate.lines(80):
            reporter.write_line(text, bold=True)
        for problem in self.problems:
            reporter.write_line(problem, red=True)
