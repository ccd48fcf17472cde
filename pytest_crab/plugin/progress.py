"""The progress line of a run: what is running, done, spent and left; only where a person is watching a terminal."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pytest_crab.campaign.executor import Progress

if TYPE_CHECKING:
    import pytest

#: How many running trials are named.
NAMED = 2


def progress_text(progress: Progress, total: int) -> str:
    """Say it in one line, without control characters."""
    parts = [f"{progress.done}/{total} trials"]
    running = [f"{_name(key)} {step} {seconds:.0f}s" for key, step, seconds in progress.running[:NAMED]]
    if len(progress.running) > NAMED:
        running.append(f"{len(progress.running) - NAMED} more")
    if running:
        parts.append(", ".join(running))
    if progress.cost_usd is not None:
        parts.append(f"{progress.cost_usd:.2f} USD")
    return " | ".join(parts)


def _name(key: object) -> str:
    instance, reviewer = key[:2] if isinstance(key, tuple) else (key, "")
    return f"{instance}::{reviewer}"


class ProgressLine:
    """A line that is written behind what pytest has printed, and wiped before pytest prints on."""

    def __init__(self, reporter: pytest.TerminalReporter | None) -> None:
        self._reporter = reporter if reporter is not None and reporter.isatty and reporter.verbosity >= 0 else None
        self._shown = ""

    def show(self, text: str, used: int) -> None:
        """Show ``text`` in what is left of the line, of which ``used`` columns are taken."""
        if self._reporter is None:
            return
        room = shutil.get_terminal_size().columns - used - 3
        text = f" [{text[: max(0, room - 1)]}]" if room > 20 else ""
        if text != self._shown:
            self.wipe()
            self._reporter.write(text, flush=True)
            self._shown = text

    def wipe(self) -> None:
        """Take the line away."""
        if self._reporter is not None and self._shown:
            back = "\b" * len(self._shown)
            self._reporter.write(back + " " * len(self._shown) + back, flush=True)
            self._shown = ""
