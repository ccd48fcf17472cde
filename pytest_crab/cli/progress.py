"""Many things at a time in a command: each result when it is there, and meanwhile the progress line of a run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import closing, contextmanager
from typing import TypeVar

import click

from pytest_crab.campaign.progress import RunClock, SlotsWanted, TerminalLine, Watch, progress_text
from pytest_crab.runtimes.slots import Slots

R = TypeVar("R")

#: Seconds between two looks at what is going on.
_INTERVAL = 0.2


@contextmanager
def as_they_end(
    pool: Executor, work: Mapping[str, Callable[[Callable[[str], None]], R]]
) -> Iterator[Iterator[tuple[str, R]]]:
    """Run ``work`` on instances on a pool, by name, and yield each result as soon as it is there.

    Work is called with what it tells its steps to. Raises what work raises; then what has not begun never does.
    """
    with closing(_results(pool, work)) as results:
        yield results


def _results(
    pool: Executor, work: Mapping[str, Callable[[Callable[[str], None]], R]]
) -> Generator[tuple[str, R], None, None]:
    watch = Watch()
    line = TerminalLine(_write, lambda: shutil.get_terminal_size().columns) if sys.stderr.isatty() else None
    wanted, clock = SlotsWanted(Slots()), RunClock()
    futures = {pool.submit(_run, watch, name, call): name for name, call in work.items()}
    open_ = set(futures)
    try:
        while open_:
            ended, open_ = wait(open_, timeout=_INTERVAL, return_when=FIRST_COMPLETED)
            progress = watch.progress()
            sentence = wanted.sentence(progress)
            if line is not None and (ended or sentence):
                line.wipe()
            if sentence is not None:
                click.echo(sentence, err=True)
            for future in sorted(ended, key=list(futures).index):
                yield futures[future], future.result()
            if line is not None and open_:
                line.show(progress_text(progress, len(work), "instances", elapsed=clock.elapsed))
            elif open_ and clock.is_due():
                click.echo(progress_text(progress, len(work), "instances", elapsed=clock.elapsed), err=True)
    finally:
        if line is not None:
            line.wipe()
        for future in open_:
            future.cancel()


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
