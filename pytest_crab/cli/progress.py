"""Many things at a time in a command: each result when it is there, and meanwhile the progress line of a run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

import click

from pytest_crab.campaign.progress import RunClock, SlotsWanted, TerminalLine, Watch, progress_text
from pytest_crab.runtimes.slots import Slots

R = TypeVar("R")

#: Seconds between two looks at what is going on.
_INTERVAL = 0.2


@contextmanager
def as_they_end(
    pool: Executor, work: Mapping[str, Callable[[Callable[[str], None]], R]], noun: str = "instances"
) -> Iterator[Iterator[tuple[str, R]]]:
    """Run ``work`` on things of this noun on a pool, by name, and yield each result as soon as it is there.

    Work is called with a function that takes the name of each of its steps. Raises what work raises; then what has not
    begun never does.
    """
    with closing(_results(pool, work, noun)) as results:
        yield results


def _results(
    pool: Executor, work: Mapping[str, Callable[[Callable[[str], None]], R]], noun: str
) -> Generator[tuple[str, R], None, None]:
    watch = Watch()
    line = TerminalLine(_write, lambda: shutil.get_terminal_size().columns) if sys.stderr.isatty() else None
    wanted, clock = SlotsWanted(Slots()), RunClock()
    futures = {pool.submit(_run, watch, name, call): name for name, call in work.items()}
    ended: SimpleQueue[Future[R]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    left = len(futures)
    try:
        while left:
            results = _await_some(ended)
            left -= len(results)
            progress = watch.progress()
            sentence = wanted.sentence(progress)
            if line is not None and (results or sentence):
                line.wipe()
            if sentence is not None:
                click.echo(sentence, err=True)
            for future in results:
                yield futures[future], future.result()
            if line is not None and left:
                line.show(progress_text(progress, len(work), noun))
            elif left and clock.is_due():
                click.echo(progress_text(progress, len(work), noun), err=True)
    finally:
        if line is not None:
            line.wipe()
        for future in futures:
            future.cancel()


def _await_some(ended: SimpleQueue[Future[R]]) -> list[Future[R]]:
    """Return what has ended since the last call, after at most _INTERVAL seconds."""
    with suppress(Empty):
        first = ended.get(timeout=_INTERVAL)
        return [first, *(ended.get() for _ in range(ended.qsize()))]
    return []


def _run(watch: Watch, name: str, call: Callable[[Callable[[str], None]], R]) -> R:
    done = False
    try:
        watch.step(name, "begins")
        result = call(lambda step: watch.step(name, step))
        done = True
        return result
    finally:
        watch.end(name, done=done)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
