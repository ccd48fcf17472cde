"""Run commands in containers: serve their streams until the end, the deadline or a cap, and say how they ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from pytest_crab.errors import EngineError
from pytest_crab.harness import COUNTERS
from pytest_crab.protocols import Command, Completed
from pytest_crab.runtimes.cgroups import counts_kills
from pytest_crab.runtimes.container_io import AttachedStreams, converse
from pytest_crab.runtimes.engine import Engine
from pytest_crab.runtimes.environments import OUTPUT_CAP

_KILLED = 137
_DRAIN_SECONDS = 0.5
_KILL_SECONDS = 20.0
#: At least how long an engine, which may be busy, is given to note that a command has ended.
_NOTE_SECONDS = 20.0


def run_main(engine: Engine, container: str, stdin: bytes, *, seconds: float) -> Completed:
    """Start a created container and serve its main process to its end."""
    deadline = time.monotonic() + seconds
    with ExitStack() as stack:
        talk = _converse_with(stack, engine.attach(container), stdin)
        with engine.calling("starting a container") as client:
            client.start(container)
        in_time = converse([talk], deadline)
        engine.check()
        code = engine.exit_of(container, deadline) if in_time else None
        starved = engine.ran_out_of_memory(container)
        return _to_completed(
            talk, code, late=code is None and not talk.overflow, starved=starved, overflow=talk.overflow
        )


@contextmanager
def start_idler(engine: Engine, container: str) -> Iterator[None]:
    """Start a created container whose idler reads to the end of its input, which is when this process is no more.

    So a run that is killed leaves no process in a container, though the container itself is for the next run to remove.
    """
    with ExitStack() as stack:
        _converse_with(stack, engine.attach(container), b"")  # never served, so that the input stays open
        with engine.calling("starting a container") as client:
            client.start(container)
        yield


def run_beside(
    engine: Engine, container: str, commands: Sequence[Command], *, workdir: str, env: Mapping[str, str], seconds: float
) -> tuple[Completed, ...]:
    """Start a created container that idles, serve commands in it beside each other to their ends, and end it."""
    deadline = time.monotonic() + seconds
    with ExitStack() as stack:
        stack.enter_context(start_idler(engine, container))
        talks, made = [], []
        for command in commands:
            identity, attached = _require_begun(engine.begin(container, command, workdir, env))
            talks.append(_converse_with(stack, attached, command.stdin))
            made.append(identity)
        in_time = converse(talks, deadline)
        engine.check()
        overflow = any(talk.overflow for talk in talks)
        ended = zip(talks, made, strict=True)
        ends = [_end(engine, one, deadline) if talk.ended else (None, not (in_time or overflow)) for talk, one in ended]
        engine.end(container)  # only then does every engine tell of memory that added commands lacked
        starved = engine.ran_out_of_memory(container)
        return tuple(
            _to_completed(talk, code, late=late, starved=starved, overflow=overflow)
            for talk, (code, late) in zip(talks, ends, strict=True)
        )


def _require_begun(beside: tuple[str, Any] | None) -> tuple[str, Any]:
    if beside is None:
        raise EngineError("a container ended before the commands in it could be started", passing=True)
    return beside


def run_added(
    engine: Engine, container: str, command: Command, *, workdir: str, env: Mapping[str, str], seconds: float
) -> Completed:
    """Run a command in a container that idles; a time-out kills all processes of that command's user in it.

    A container that does not even take the kill is removed; commands that follow are then told that they were killed.
    """
    beside = engine.begin(container, command, workdir, env)
    if beside is None:
        return Completed(exit_code=None, stdout=b"", stderr=b"")
    deadline = time.monotonic() + seconds
    with ExitStack() as stack:
        talk = _converse_with(stack, beside[1], command.stdin)
        in_time = converse([talk], deadline)
        engine.check()
        code, late = _end(engine, beside[0], deadline) if in_time else (None, True)
        if late:
            end_all(engine, container, command.user)
            converse([talk], time.monotonic() + _DRAIN_SECONDS)
        starved = code == _KILLED and _lacked_memory(engine, container)
        return _to_completed(talk, code, late=late and not talk.overflow, starved=starved, overflow=talk.overflow)


def _lacked_memory(engine: Engine, container: str) -> bool:
    """Return whether the kernel has killed anything for memory so far in a running container, by its own count.

    The engine's events could be asked as well, but only by the wall clock, which may jump; and it keeps few of them.
    """
    beside = engine.begin(container, Command(argv=("cat", *COUNTERS["memory"]), user="root"), "/", {})
    if beside is None:
        return engine.ran_out_of_memory(container)
    with ExitStack() as stack:
        talk = _converse_with(stack, beside[1], b"")
        converse([talk], time.monotonic() + _NOTE_SECONDS)
        return counts_kills(talk.stdout.decode(errors="replace"))


def end_all(engine: Engine, container: str, user: str) -> None:
    """Kill every process of a user in a container that idles; one that does not even take the kill is removed.

    The kernel signals them all in one step, so that none of them can start another meanwhile.
    """
    killer = Command(argv=("sh", "-c", "kill -9 -1"), user=user)
    with ExitStack() as stack:
        try:
            beside = engine.begin(container, killer, "/", {})
        except EngineError:
            beside = None
        if beside is not None:
            talk = _converse_with(stack, beside[1], b"")
            if converse([talk], time.monotonic() + _KILL_SECONDS):
                return
        engine.check()
        engine.remove(container)


def _end(engine: Engine, made: str, deadline: float) -> tuple[int | None, bool]:
    """Return how a command whose streams have ended ended, and whether it still runs after 20 s and the deadline."""
    deadline = max(deadline, time.monotonic() + _NOTE_SECONDS)
    pause = 0.005
    while True:
        engine.check()
        with engine.calling("asking how a command ended") as client:
            said = client.exec_inspect(made)
        if not said["Running"]:
            return (None if said["ExitCode"] is None else int(said["ExitCode"])), False
        if time.monotonic() > deadline:
            return None, True
        time.sleep(pause)
        pause = min(pause * 2, 0.5)


def _to_completed(talk: AttachedStreams, code: int | None, *, late: bool, starved: bool, overflow: bool) -> Completed:
    return Completed(
        exit_code=code,
        stdout=talk.stdout,
        stderr=talk.stderr,
        timed_out=late,
        out_of_memory=starved,
        too_much_output=overflow,
    )


def _converse_with(stack: ExitStack, attached: object, stdin: bytes) -> AttachedStreams:
    talk = AttachedStreams(attached, stdin, OUTPUT_CAP)
    stack.callback(talk.close)
    return talk
