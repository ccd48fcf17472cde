"""The progress line of a run: what is running, done, spent and left; only where a person is watching a terminal."""

from __future__ import annotations

import contextlib
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_crab.campaign.executor import Progress
from pytest_crab.money import dollars

if TYPE_CHECKING:
    import pytest

#: How many running trials are named.
NAMED = 2

#: With fewer columns than this left on the line nothing is shown.
ROOM = 20


def progress_text(progress: Progress, total: int) -> str:
    """Say it in one line, without control characters."""
    parts = [f"{progress.done}/{total} trials"]
    running = [f"{_name(key)} {step} {seconds:.0f}s" for key, step, seconds in progress.running[:NAMED]]
    if len(progress.running) > NAMED:
        running.append(f"{len(progress.running) - NAMED} more")
    if running:
        parts.append(", ".join(running))
    if progress.cost_usd is not None:
        parts.append(f"{dollars(progress.cost_usd)} USD")
    return " | ".join(parts)


def _name(key: object) -> str:
    instance, reviewer = key[:2] if isinstance(key, tuple) else (key, "")
    return f"{instance}::{reviewer}"


class ProgressLine:
    """A line that is written behind what pytest has printed, and wiped before pytest prints on."""

    def __init__(self, config: pytest.Config) -> None:
        reporter = self._terminal = config.pluginmanager.get_plugin("terminalreporter")
        self._reporter = reporter if reporter is not None and reporter.isatty and reporter.verbosity >= 0 else None
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._shown = ""

    def show(self, text: str) -> None:
        """Show ``text`` in what is left of the terminal's line."""
        if self._reporter is None:
            return
        writer = self._reporter._tw  # noqa: SLF001 - the only way to the width
        room = writer.fullwidth - writer.width_of_current_line - 4
        text = f" [{text[: max(0, room)]}]" if room > ROOM else ""
        if text != self._shown:
            self._write(_erased(self._shown) + text)
            self._shown = text

    def wipe(self) -> None:
        """Take the line away."""
        if self._reporter is not None and self._shown:
            self._write(_erased(self._shown))
            self._shown = ""

    def say(self, text: str) -> None:
        """Write a whole line that stays; pytest then begins its own again."""
        self.wipe()
        if self._terminal is not None:
            with self._uncaptured():
                self._terminal.write_line(text, yellow=True)
                self._terminal.flush()

    def _write(self, text: str) -> None:
        """Write past pytest's capturing, and past its reporter, which counts the columns of the line."""
        with self._uncaptured():
            sys.stdout.write(text)
            sys.stdout.flush()

    def _uncaptured(self) -> AbstractContextManager[None]:
        return self._capture.global_and_fixture_disabled() if self._capture else contextlib.nullcontext()


def _erased(text: str) -> str:
    back = "\b" * len(text)
    return back + " " * len(text) + back
