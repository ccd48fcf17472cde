"""What a process printed is read to its end, whatever the order in which that and its end are seen."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from pytest_crab.runtimes import process_io
from pytest_crab.runtimes.process_io import PipedProcess, serve, start_process

if TYPE_CHECKING:
    import pytest


def served(script: str) -> PipedProcess:
    """A process that is served from after its end on."""
    running = start_process(["sh", "-c", script], b"", 1 << 20)
    os.waitid(os.P_PID, running.process.pid, os.WEXITED | os.WNOWAIT)
    serve([running], deadline=time.monotonic() + 60, cancelled=lambda: False, kill=lambda one: one.process.kill())
    return running


def test_what_was_printed_is_read_though_it_takes_long_to_come_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has ended before anybody looks, and a busy machine has let the time for its pipes pass."""
    monkeypatch.setattr(process_io, "_DRAIN_SECONDS", 0.0)
    running = served("printf out; printf err >&2")
    assert (running.stdout, running.stderr) == (b"out", b"err")


def test_a_pipe_that_is_held_open_costs_nothing_of_another() -> None:
    running = served("sleep 60 2>/dev/null & echo $!; printf err >&2")
    os.kill(int(running.stdout), signal.SIGKILL)
    assert running.stderr == b"err"


def test_who_prints_without_end_behind_its_starter_is_not_read_without_end() -> None:
    assert served("yes 2>/dev/null &").overflow
