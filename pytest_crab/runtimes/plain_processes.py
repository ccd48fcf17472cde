"""Commands as plain processes, which nothing contains; all that they start is ended with them."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_crab.errors import Cancelled, EngineError
from pytest_crab.protocols import Command, Completed, Limits
from pytest_crab.runtimes.environments import OUTPUT_CAP
from pytest_crab.runtimes.process_io import PipedProcess, serve, start_process, to_completed

_MARK = "PYTEST_CRAB_SANDBOX"
_LAUNCH = 'ulimit -c 0; ulimit -f "$1"; shift 1; exec "$@"'


def run_plain(
    commands: Sequence[Command],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Limits,
    seconds: float,
    cancelled: threading.Event,
) -> tuple[Completed, ...]:
    """Run commands beside each other; afterwards all that they started is gone. Raises EngineError, Cancelled."""
    token = uuid.uuid4().hex
    running: list[PipedProcess] = []
    try:
        for command in commands:
            variables = {**env, **command.env, _MARK: token}
            argv = ["/bin/sh", "-c", _LAUNCH, "sh", str(limits.file * 2048), *command.argv]
            running.append(
                start_process(argv, command.stdin, OUTPUT_CAP, env=variables, cwd=cwd, start_new_session=True)
            )
        serve(
            running,
            deadline=time.monotonic() + seconds,
            cancelled=cancelled.is_set,
            kill=lambda piped: _kill(piped, token),
        )
    except OSError as error:
        raise EngineError(f"a command could not be started: {error}") from error
    finally:
        _kill_marked(token)
    if cancelled.is_set():
        raise Cancelled("the run was interrupted")
    return tuple(to_completed(piped, out_of_memory=False) for piped in running)


def _kill(piped: PipedProcess, token: str) -> None:
    try:
        os.killpg(piped.process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        piped.process.kill()
    _kill_marked(token)


def _kill_marked(token: str) -> None:
    """Kill every process that carries the token in its environment, as children of any depth do."""
    mark = f"{_MARK}={token}".encode()
    while marked := [process for process in Path("/proc").glob("[0-9]*") if mark in _environment(process)]:
        for process in marked:
            try:
                os.kill(int(process.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
