"""Signal handlers of a run: each end prints one line on what is kept and how to go on."""

from __future__ import annotations

import os
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest

from pytest_crab.text import one_line

#: Signals that end a run; after its line the process ends by the signal, as it would without a handler.
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Signals:
    """The handlers of one run; a handler that others have set stays, and so does a signal that is ignored."""

    def __init__(self, store: Path, report: Path) -> None:
        self._store = store
        self._report = report
        self._before: dict[signal.Signals, Any] = {}
        self._stderr: int | None = None

    def handle(self) -> None:
        """Handle SIGTERM and SIGHUP from here on; called where pytest captures nothing."""
        if self._stderr is None:
            self._stderr = os.dup(2)
        for number in ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:
                self._set(number, self._end)

    @contextmanager
    def exit_at_second_interrupt(self) -> Iterator[None]:
        """Within this block the first SIGINT raises KeyboardInterrupt, and each later one exits immediately.

        The exit is in place before KeyboardInterrupt is raised: two interrupts at one instant would otherwise become
        another error inside a lock of the standard library, and pytest would go on with the next item.
        """
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
            self.exit_at_next_interrupt()
            raise KeyboardInterrupt

        self._set(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) is interrupt:
                self._reset(signal.SIGINT)

    def exit_at_next_interrupt(self) -> None:
        """Install a SIGINT handler that exits immediately, also while pytest still writes about this interrupt."""
        self._set(signal.SIGINT, lambda _number, _frame: self.exit_now())

    def exit_now(self) -> NoReturn:
        """Exit the process immediately, for a second Ctrl-C."""
        self._say("a second Ctrl-C")
        os._exit(int(pytest.ExitCode.INTERRUPTED))

    def restore(self) -> None:
        """Restore the handlers that were set before."""
        for number in tuple(self._before):
            self._reset(number)
        if self._stderr is not None:
            os.close(self._stderr)
            self._stderr = None

    def _set(self, number: signal.Signals, handler: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(number, handler)
            self._before.setdefault(number, before)

    def _reset(self, number: signal.Signals) -> None:
        if number in self._before:
            signal.signal(number, self._before[number])
            del self._before[number]

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self._say(signal.Signals(number).name)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _say(self, what: str) -> None:
        """Write past pytest, which may be in the middle of a line; the terminal may be gone."""
        kept = (
            f"finished steps are kept in {one_line(str(self._store))}: run the same command again to go on; "
            f"pytest-crab report {shlex.quote(one_line(str(self._report)))} shows what was measured so far"
        )
        with suppress(OSError):
            os.write(2 if self._stderr is None else self._stderr, f"\ncrab: ended by {what}; {kept}\n".encode())
