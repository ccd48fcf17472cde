"""Writes how far a run is beside its records, so that ``pytest-crab view`` shows it from its start."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest

from pytest_crab.campaign.progress import Progress
from pytest_crab.option_table import Options
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.results.run_progress import (
    EVERY,
    PlannedRun,
    remove_progress,
    write_plan,
    write_progress,
)


class RunFile:
    """Renews the files from the first item to the end of the session; registered on the controller.

    A file that cannot be written is left out: the records say so themselves if they cannot be written either.
    """

    def __init__(self, options: Options, recorder: RunRecorder, progress: Callable[[], Progress]) -> None:
        self._options = options
        self._recorder = recorder
        self._progress = progress
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="crab-run-file", daemon=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Write the plan; the items of pytest-xdist's workers are not known yet."""
        self._begin()

    @pytest.hookimpl(trylast=True, optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Write the plan once the recorder knows the items of a worker."""
        self._begin()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Remove the files, after the report was written."""
        self._end()

    def pytest_unconfigure(self) -> None:
        """Remove the files, whatever happened."""
        self._end()

    def _begin(self) -> None:
        if self._thread.ident is not None or not (trials := self._recorder.planned_trials()):
            return
        try:
            write_plan(self._options.report, PlannedRun(trials=tuple(trials), budget_usd=self._options.budget))
        except OSError:
            return
        self._thread.start()

    def _renew(self) -> None:
        while not self._ended.wait(EVERY):
            with contextlib.suppress(OSError):
                write_progress(self._options.report, self._progress())

    def _end(self) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
            remove_progress(self._options.report)
