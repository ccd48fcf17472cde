"""The progress of a run: a live line on a terminal, and elsewhere a line every half a minute."""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_crab.campaign.progress import Progress
from pytest_crab.campaign.progress import RunClock
from pytest_crab.campaign.progress import TerminalLine
from pytest_crab.campaign.progress import progress_text

if TYPE_CHECKING:
    import pytest


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
        text = progress_text(progress, total, elapsed=self._clock.elapsed, budget=budget)
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
