"""The progress line of a run (running, done, spent, left), on terminals only."""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_crab.campaign.progress import TerminalLine

if TYPE_CHECKING:
    import pytest


class ProgressLine:
    """A line behind pytest's own output, wiped before pytest prints again."""

    def __init__(self, config: pytest.Config) -> None:
        reporter = self._terminal = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter = reporter if reporter is not None and reporter.isatty and reporter.verbosity >= 0 else None
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._line = TerminalLine(self._write, self._room)

    def show(self, text: str) -> None:
        """Show ``text`` in what is left of the terminal's line."""
        if self._reporter is not None:
            self._line.show(text)

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
