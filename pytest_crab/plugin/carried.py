"""Records on test reports: from the process that ran an item to the controller, also through pytest-xdist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pytest_crab import serialization
from pytest_crab.errors import CrabError
from pytest_crab.plugin.items import Missed, Unmeasured
from pytest_crab.results.explain import explain
from pytest_crab.text import one_line
from pytest_crab.types import Trial

if TYPE_CHECKING:
    import pytest


class ItemRecord(Protocol):
    """A record of an item."""

    @property
    def seconds(self) -> float:
        """The seconds that its work took."""

    @property
    def transcripts(self) -> Sequence[str]:
        """The keys of its transcripts in the store."""


R = TypeVar("R", bound=ItemRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried(Generic[R]):
    """Records of one kind on reports."""

    #: The attribute of a report that has the record.
    name: str
    record: type[R]
    #: Gives the lines of an error.
    explain: Callable[[R], list[str]]

    def attach(self, report: pytest.TestReport, call: pytest.CallInfo[Any], record: R | None) -> None:
        """Let the report of the setup carry the record, and last as long as it took.

        Another failed report carries a sentence where what failed is this package, an adapter or a hook.
        """
        report.crab_item = True  # type: ignore[attr-defined]
        last = call.when == "call" or (call.when == "setup" and not report.passed)
        report.duration = record.seconds if record is not None and last else 0.0
        fault = call.excinfo
        if record is not None and call.when == "setup":
            setattr(report, self.name, record)
            if fault is not None and fault.errisinstance(Unmeasured):
                report.longrepr = "\n".join(self.explain(record))  # pytest asks an item only about its call phase
        elif report.failed and fault is not None and not fault.errisinstance((CrabError, Missed)):
            sentence = one_line(f"pytest-crab or one of its hooks failed: {fault.exconly()}")
            report.crab_fault = sentence  # type: ignore[attr-defined]

    def dump(self, report: pytest.TestReport | pytest.CollectReport, data: dict[str, Any] | None) -> None:
        """In a worker write the record of a report as plain data."""
        if data is not None and self.name in data:
            data[self.name] = serialization.dump(vars(report)[self.name])

    def read(self, report: Any) -> None:
        """On the controller read the record of a worker's report."""
        if report is not None and self.name in vars(report):
            problems: list[str] = []
            setattr(report, self.name, serialization.read(self.record, vars(report)[self.name], problems))
            assert not problems, problems


#: Trials of reviewers.
TRIAL = Carried(name="crab_trial", record=Trial, explain=explain)
