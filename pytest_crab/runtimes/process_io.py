"""Serving processes on this machine over pipes: exact bytes in, capped bytes out, a deadline, a way to cancel."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import IO

from pytest_crab.protocols import Completed

_CHUNK = 1 << 16
_LOOK = 0.1
_DRAIN_SECONDS = 0.5


class PipedProcess:
    """One process with its three pipes; ``late`` and ``overflow`` say why it was killed, if it was."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, cap: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.late = False
        self.overflow = False
        self.outputs: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
        self.open: set[IO[bytes]] = {process.stdin, process.stdout, process.stderr}
        self._stdin = memoryview(stdin)
        self._cap = cap
        for pipe in self.open:
            os.set_blocking(pipe.fileno(), False)

    @property
    def stdout(self) -> bytes:
        """The process's standard output so far."""
        assert self.process.stdout is not None
        return bytes(self.outputs[self.process.stdout])

    @property
    def stderr(self) -> bytes:
        """The process's standard error so far."""
        assert self.process.stderr is not None
        return bytes(self.outputs[self.process.stderr])

    def turn(self, pipe: IO[bytes]) -> None:
        """Move what can be moved through one pipe, and close it at its end."""
        at_end = self._send(pipe) if pipe is self.process.stdin else self._receive(pipe)
        if at_end:
            self.close(pipe)

    def close(self, pipe: IO[bytes]) -> None:
        """Close one pipe."""
        self.open.discard(pipe)
        try:
            pipe.close()
        except BrokenPipeError:
            return

    def _send(self, pipe: IO[bytes]) -> bool:
        try:
            while self._stdin:
                self._stdin = self._stdin[os.write(pipe.fileno(), self._stdin[:_CHUNK]) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        return True

    def _receive(self, pipe: IO[bytes]) -> bool:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        kept = self.outputs[pipe]
        room = self._cap - len(kept)
        kept += data[: max(room, 0)]
        self.overflow = self.overflow or len(data) > room
        return not data


def serve(
    running: Sequence[PipedProcess],
    *,
    deadline: float,
    cancelled: Callable[[], bool],
    kill: Callable[[PipedProcess], None],
) -> None:
    """Serve processes until all have ended; ``kill`` ends one with all its descendants.

    The deadline, a cap that is passed and a cancel end all of them. A pipe that some left-over process holds open once
    its own process has gone is read until it is silent, for half a second at least.
    """
    ends = {piped: os.pidfd_open(piped.process.pid) for piped in running}
    killed = False
    try:
        with selectors.DefaultSelector() as selector:
            for piped in running:
                _register(selector, piped, ends[piped])
            alive = set(running)
            while alive:
                _round(selector, alive, min(_LOOK, max(deadline - time.monotonic(), 0)))
                over = any(piped.overflow for piped in alive)
                if not killed and (over or cancelled() or time.monotonic() >= deadline):
                    killed = True
                    for piped in alive:
                        piped.late = not over
                        kill(piped)
    finally:
        for piped in running:
            if piped.process.poll() is None:
                kill(piped)
                piped.process.wait()
            for pipe in list(piped.open):
                piped.close(pipe)
        for end in ends.values():
            os.close(end)


def _register(selector: selectors.BaseSelector, piped: PipedProcess, end: int) -> None:
    selector.register(end, selectors.EVENT_READ, (piped, None))
    for pipe in piped.open:
        writing = pipe is piped.process.stdin
        selector.register(pipe, selectors.EVENT_WRITE if writing else selectors.EVENT_READ, (piped, pipe))


def _round(selector: selectors.BaseSelector, alive: set[PipedProcess], seconds: float) -> None:
    for key, _ in selector.select(seconds):
        piped, pipe = key.data
        if piped not in alive:
            continue
        if pipe is not None:
            _turn(selector, piped, pipe)
        elif piped.process.poll() is not None:
            selector.unregister(key.fileobj)
            _finish(selector, piped)
            alive.discard(piped)


def _turn(selector: selectors.BaseSelector, piped: PipedProcess, pipe: IO[bytes]) -> None:
    number = pipe.fileno()
    piped.turn(pipe)
    if pipe not in piped.open:
        selector.unregister(number)


def _finish(selector: selectors.BaseSelector, piped: PipedProcess) -> None:
    """The process has gone: take what is still in its pipes, all that is there however late this comes to it."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    for pipe in list(piped.open):
        selector.unregister(pipe)
        while pipe is not piped.process.stdin and pipe in piped.open and not piped.overflow:
            with selectors.DefaultSelector() as one:
                one.register(pipe, selectors.EVENT_READ)
                if not one.select(max(deadline - time.monotonic(), 0)):
                    break
                piped.turn(pipe)
        if pipe in piped.open:
            piped.close(pipe)


def start_process(argv: Sequence[str], stdin: bytes, cap: int, **options: object) -> PipedProcess:
    """Start a process with three pipes and no open files of ours."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(list(argv), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, **options)  # type: ignore[call-overload]
    return PipedProcess(process, stdin, cap)


def to_completed(piped: PipedProcess, *, out_of_memory: bool, too_much_disk: bool = False) -> Completed:
    """Return how a served process ended; a signal's number is given as a shell would, 128 added."""
    code = piped.process.returncode
    killed = piped.late or piped.overflow
    return Completed(
        exit_code=None if killed else (128 - code if code < 0 else code),
        stdout=piped.stdout,
        stderr=piped.stderr,
        timed_out=piped.late and not piped.overflow and not too_much_disk,
        out_of_memory=out_of_memory,
        too_much_output=piped.overflow,
        too_much_disk=too_much_disk,
    )
