"""The records of items of one kind: noted as their reports arrive, and kept in a file of the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic

import pytest

from pytest_crab.option_table import Options
from pytest_crab.plugin.carried import Carried, R
from pytest_crab.plugin.items import InstanceItem
from pytest_crab.plugin.planned import PlannedNodes
from pytest_crab.results.files import TrialLog
from pytest_crab.show.transcripts import write_transcripts
from pytest_crab.store import FileStore


class ItemRecords(Generic[R]):
    """Knows the items of these contestants and their records; a base of plugins of the controller."""

    #: The class of the items.
    kind: ClassVar[type[InstanceItem]]
    #: How reports carry the items' records.
    carried: ClassVar[Carried[Any]]
    #: The file of the records.
    file: ClassVar[str]
    #: What is said of a lost item.
    lost: ClassVar[str]

    def __init__(self, contestants: Collection[str], options: Options, config: pytest.Config) -> None:
        #: The files that could not be written.
        self.problems: list[str] = []
        self._options = options
        self._config = config
        self._planned = PlannedNodes(contestants, config)
        self._reported: dict[str, R] = {}
        self._faults: dict[str, str] = {}
        self._log: TrialLog | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the items that will be run in this process."""
        self._planned.add_items(item for item in session.items if isinstance(item, self.kind))

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note the items that workers will run, of which each reports the same ids; one is resolved when it matters."""
        self._planned.add_nodes(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Note that a worker died and took an item with it: broken, not missed."""
        if self._planned.find(crashitem) is not None:
            self._faults[crashitem] = self.lost
            report.crab_item = True  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, Any, Any]:
        """Read the record of a worker's report."""
        report = yield
        self.carried.read(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Note the record of a report, and take it off again once all plugins have seen it: pytest keeps reports."""
        fault, record = getattr(report, "crab_fault", None), getattr(report, self.carried.name, None)
        if fault is not None:
            self._faults[report.nodeid] = fault
        if record is not None:
            self._reported[report.nodeid] = record
            self.note(report, record)
        result = yield
        vars(report).pop(self.carried.name, None)
        return result

    def note(self, report: pytest.TestReport, record: R) -> None:  # noqa: ARG002 - for one whose place matters
        """Keep the record that a report carries."""
        self.keep(record)

    def keep(self, record: R) -> None:
        """Write a record into the file, and what was said meanwhile beside it."""
        path = self._options.report / self.file

        def append() -> None:
            if self._log is None:
                self._log = TrialLog(path)
            self._log.append(record)
            write_transcripts(self._options.report, FileStore(self._options.store), record.transcripts)

        self.write(path, append)

    def write(self, path: Path, write: Callable[[], object]) -> None:
        """Write a file; note as a problem that it cannot be written."""
        try:
            write()
        except OSError as error:
            self.note_problem(f"{path} cannot be written: {error.strerror}")

    def note_problem(self, problem: str) -> None:
        """Note a problem, once."""
        if problem not in self.problems:
            self.problems.append(problem)
