"""The progress of a run: a live line on a terminal, and elsewhere a line every half a minute."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager

import pytest

from pytest_crab.campaign.progress import Progress, RunClock, TerminalLine, Watch, progress_text
from pytest_crab.campaign.trial_pool import costs_of_run
from pytest_crab.plugin.recorder import RunRecorder

#: Seconds between two looks at what workers of pytest-xdist do.
_INTERVAL = 0.2


class ProgressLine:
    """A line behind pytest's own output, wiped before pytest prints again."""

    def __init__(self, config: pytest.Config) -> None:
        reporter = self._terminal = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter = reporter if reporter is not None and reporter.isatty and reporter.verbosity >= 0 else None
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._plain = reporter is not None and not reporter.isatty and reporter.verbosity >= 0
        self._line = TerminalLine(self._write, self._room)
        self._clock = RunClock()

    def show(self, progress: Progress, total: int, budget: float | None) -> None:
        """Show the progress in what is left of the terminal's line; elsewhere write a line if one is due."""
        is_due = self._plain and self._clock.is_due()
        if self._reporter is None and not is_due:
            return
        text = progress_text(progress, total, budget=budget)
        if self._reporter is not None:
            self._line.show(text)
        else:
            self.write_line(f"crab: {text}")

    def wipe(self) -> None:
        """Remove the line."""
        self._line.wipe()

    def write_line(self, text: str) -> None:
        """Write a whole line that stays; pytest then repeats its own."""
        self.wipe()
        if self._terminal is not None:
            with self._without_capture():
                self._terminal.write_line(text, yellow=True)
                self._terminal.flush()

    def _room(self) -> int:
        assert self._reporter is not None
        writer = self._reporter._tw  # noqa: SLF001 - the only way to the width
        return int(writer.fullwidth - writer.width_of_current_line)

    def _write(self, text: str) -> None:
        """Write past pytest's capturing, and past its reporter, which counts the columns of the line."""
        with self._without_capture():
            sys.stdout.write(text)
            sys.stdout.flush()

    def _without_capture(self) -> AbstractContextManager[None]:
        return self._capture.global_and_fixture_disabled() if self._capture else contextlib.nullcontext()


class WorkersProgress:
    """The same line on the controller of pytest-xdist, whose workers run the trials.

    A thread shows it, since nothing is called on the controller between two reports. It holds a lock while it writes,
    and so does every hook in which pytest or pytest-xdist writes.
    """

    def __init__(self, recorder: RunRecorder, budget: float | None, config: pytest.Config) -> None:
        self._recorder = recorder
        self._budget = budget
        self._config = config
        self._line: ProgressLine | None = None
        self._watch = Watch()
        self._total = 0
        self._begun = False  # before the first trial pytest-xdist writes lines outside of any hook
        self._writing = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, name="crab-progress", daemon=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Begin to show the progress."""
        self._line = ProgressLine(self._config)
        self._watch = Watch()  # whose seconds begin now
        self._thread.start()

    @pytest.hookimpl(trylast=True, optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Count the trials once the recorder knows a worker's items."""
        self._total = self._total or self._recorder.expected_trials

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> Generator[None, object, object]:
        """Note that a worker has begun a trial."""
        self._begun = True
        planned = self._recorder.find_plan(nodeid)
        if planned is not None:
            self._watch.step(planned.trial_id, "runs")
        with self._alone():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Count a trial that has ended; a worker that died took its trial with it."""
        trial = getattr(report, "crab_trial", None)
        planned = self._recorder.find_plan(report.nodeid) if hasattr(report, "crab_item") else None
        if trial is not None:
            self._watch.end(trial.id, done=True, costs=costs_of_run(trial))
        elif planned is not None and report.failed:
            self._watch.end(planned.trial_id, done=True)
        with self._alone():
            return (yield)

    def progress(self) -> Progress:
        """Return the state of the trials that workers run."""
        return self._watch.progress()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Let pytest write alone."""
        with self._alone():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> Generator[None, object, object]:
        """Let pytest-xdist write alone."""
        with self._alone():
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Show no more."""
        self._end()

    def pytest_unconfigure(self) -> None:
        """Show no more, whatever happened."""
        self._end()

    def _show(self) -> None:
        while not self._ended.wait(_INTERVAL):
            with self._writing:
                if self._line is not None and self._total and self._begun and not self._ended.is_set():
                    self._line.show(self._watch.progress(), self._total, self._budget)

    @contextlib.contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """Take the line away, and keep other threads from writing meanwhile."""
        with self._writing:
            if self._line is not None:
                self._line.wipe()
            yield

    def _end(self) -> None:
        self._ended.set()
        with self._alone():
            pass
        if self._thread.is_alive():
            self._thread.join()
