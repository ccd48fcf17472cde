"""Running commands in containers: streams served until the end, the deadline or a cap, and what came of it told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from contextlib import contextmanager
from typing import Any

from pytest_crab.errors import EngineError
from pytest_crab.protocols import Command
from pytest_crab.protocols import Completed
from pytest_crab.runtimes.attached import Conversation
from pytest_crab.runtimes.attached import converse
from pytest_crab.runtimes.engine import Engine
from pytest_crab.runtimes.environments import OUTPUT_CAP

_KILLED = 137
_DRAIN_SECONDS = 0.5


def run_main(engine: Engine, container: str, stdin: bytes, *, seconds: float) -> Completed:
    """Start a created container and serve its main process to its end."""
    started = time.time()
    deadline = time.monotonic() + seconds
    with ExitStack() as stack:
        talk = _opened(stack, engine.attach(container), stdin)
        with engine.calling("starting a container") as client:
            client.start(container)
        in_time = converse([talk], deadline)
        engine.check()
        code = engine.exit_of(container, deadline) if in_time else None
        starved = engine.ran_out_of_memory(container, started, beside=False)
        return _completed(talk, code, late=code is None and not talk.overflow, starved=starved, overflow=talk.overflow)


@contextmanager
def idling(engine: Engine, container: str) -> Iterator[None]:
    """Start a created container whose idler reads to the end of its input, which is when this process is no more.

    So a run that is killed leaves no process in a container, though the container itself is for the next run to remove.
    """
    with ExitStack() as stack:
        _opened(stack, engine.attach(container), b"")  # never served, so that the input stays open
        with engine.calling("starting a container") as client:
            client.start(container)
        yield


def run_beside(
    engine: Engine, container: str, commands: Sequence[Command], *, workdir: str, env: Mapping[str, str], seconds: float
) -> tuple[Completed, ...]:
    """Start a created container that idles, run commands in it beside each other and serve all to their ends."""
    started = time.time()
    deadline = time.monotonic() + seconds
    with ExitStack() as stack:
        stack.enter_context(idling(engine, container))
        talks, made = [], []
        for command in commands:
            identity, attached = _begun(engine.begin(container, command, workdir, env))
            talks.append(_opened(stack, attached, command.stdin))
            made.append(identity)
        in_time = converse(talks, deadline)
        engine.check()
        overflow = any(talk.overflow for talk in talks)
        codes = [_exit_code(engine, one) if talk.ended else None for talk, one in zip(talks, made, strict=True)]
        starved = engine.ran_out_of_memory(container, started, beside=True)
        return tuple(
            _completed(talk, code, late=not (in_time or overflow or talk.ended), starved=starved, overflow=overflow)
            for talk, code in zip(talks, codes, strict=True)
        )


def _begun(beside: tuple[str, Any] | None) -> tuple[str, Any]:
    if beside is None:
        raise EngineError("a container ended before the commands in it could be started", passing=True)
    return beside


def run_added(
    engine: Engine, container: str, command: Command, *, workdir: str, env: Mapping[str, str], seconds: float
) -> Completed:
    """Run a command in a container that idles; a time-out kills all processes of that command's user in it.

    A container that does not even take the kill is removed; commands that follow are then told that they were killed.
    """
    started = time.time()
    beside = engine.begin(container, command, workdir, env)
    if beside is None:
        return Completed(exit_code=None, stdout=b"", stderr=b"")
    with ExitStack() as stack:
        talk = _opened(stack, beside[1], command.stdin)
        in_time = converse([talk], time.monotonic() + seconds)
        engine.check()
        if not in_time:
            _kill_all(engine, container, command)
            converse([talk], time.monotonic() + _DRAIN_SECONDS)
        code = _exit_code(engine, beside[0]) if in_time else None
        starved = code == _KILLED and engine.ran_out_of_memory(container, started, beside=True)
        return _completed(talk, code, late=not (in_time or talk.overflow), starved=starved, overflow=talk.overflow)


def _kill_all(engine: Engine, container: str, command: Command) -> None:
    killer = Command(argv=("sh", "-c", "kill -9 -1"), user=command.user)
    with ExitStack() as stack:
        try:
            beside = engine.begin(container, killer, "/", {})
        except EngineError:
            beside = None
        if beside is not None:
            talk = _opened(stack, beside[1], b"")
            if converse([talk], time.monotonic() + 5):
                return
        engine.check()
        engine.remove(container)


def _exit_code(engine: Engine, made: str) -> int | None:
    with engine.calling("asking how a command ended") as client:
        for pause in (0, 0.01, 0.05, 0.2, 1.0):
            time.sleep(pause)
            said = client.exec_inspect(made)
            if not said["Running"]:
                code = said["ExitCode"]
                return None if code is None else int(code)
    return None


def _completed(talk: Conversation, code: int | None, *, late: bool, starved: bool, overflow: bool) -> Completed:
    return Completed(
        exit_code=code,
        stdout=talk.stdout,
        stderr=talk.stderr,
        timed_out=late,
        out_of_memory=starved,
        too_much_output=overflow,
    )


def _opened(stack: ExitStack, attached: object, stdin: bytes) -> Conversation:
    talk = Conversation(attached, stdin, OUTPUT_CAP)
    stack.callback(talk.close)
    return talk
