"""Glue to pytest-xdist: the controller shares decisions with workers, and workers send trials as plain data."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crab import serialization
from pytest_crab.plugin.recorder import Recorder
from pytest_crab.plugin.resources import Resources
from pytest_crab.types import Trial


class Worker:
    """Sends trials on their reports as plain data; registered in a worker."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Write a report's trial as plain data."""
        data = yield
        if data is not None and "crab_trial" in data:
            data["crab_trial"] = serialization.dump(vars(report)["crab_trial"])
        return data


class Controller:
    """Shares decisions with workers and passes on what they say; registered on the controller."""

    def __init__(self, resources: Resources, recorder: Recorder) -> None:
        self._resources = resources
        self._recorder = recorder

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker what was decided once for the run."""
        node.workerinput["crab"] = self._resources.shared()

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what will be run; every worker reports the same ids."""
        self._recorder.expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, Any, Any]:
        """Read a report's trial."""
        report = yield
        if report is not None and "crab_trial" in vars(report):
            problems: list[str] = []
            report.crab_trial = serialization.read(Trial, report.crab_trial, problems)
            assert not problems, problems
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Note that a worker died and took a trial with it: broken, not missed."""
        self._recorder.note_crash(crashitem)
        if self._recorder.planned(crashitem) is not None:
            report.crab_item = True  # type: ignore[attr-defined]
