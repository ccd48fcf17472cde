"""Many trials at once: submitted when asked for, waited for in any order, ended together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Hashable
from concurrent.futures import Executor
from concurrent.futures import Future
from concurrent.futures import wait
from dataclasses import dataclass

from pytest_crab.types import Trial

#: Runs one trial; it is told a function to call with the name of each step that it begins.
Work = Callable[[Callable[[str], None]], Trial]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a campaign is doing: (key, step, seconds in it) of what is running, and what trials cost so far."""

    running: tuple[tuple[Hashable, str, float], ...]
    done: int
    cost_usd: float | None


class Campaign:
    """Trials on an executor, each under a key; at most as many run as the executor has workers."""

    def __init__(self, executor: Executor, stop_work: Callable[[], None]) -> None:
        self._executor = executor
        self._stop_work = stop_work
        self._futures: dict[Hashable, Future[Trial]] = {}
        self._steps: dict[Hashable, tuple[str, float]] = {}
        self._done = 0
        self._cost: float | None = None
        self._guard = threading.Lock()
        self.stopped = False

    def submit(self, key: Hashable, work: Work) -> None:
        """Start a trial unless one was started under this key; nothing starts after ``stop``."""
        with self._guard:
            if self.stopped or key in self._futures:
                return
            self._futures[key] = self._executor.submit(self._run, key, work)

    def result(self, key: Hashable, tick: Callable[[Progress], None], interval: float = 0.2) -> Trial | None:
        """Wait for a trial, calling ``tick`` every ``interval`` seconds; None if it was never run to its end."""
        future = self._futures.get(key)
        if future is None:
            return None
        while not future.done():  # of which wait() says nothing where the future was cancelled in its queue
            if not wait([future], timeout=interval).done:
                tick(self.progress())
        return None if future.cancelled() else future.result()

    def progress(self) -> Progress:
        """What is going on now."""
        now = time.monotonic()
        with self._guard:
            running = tuple((key, step, now - since) for key, (step, since) in self._steps.items())
            return Progress(running=running, done=self._done, cost_usd=self._cost)

    def stop(self) -> None:
        """Start nothing more, end what runs and wait until it has ended."""
        with self._guard:
            self.stopped = True
            futures = list(self._futures.values())
        for future in futures:
            future.cancel()
        try:
            if any(not future.done() for future in futures):
                self._stop_work()
        finally:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _run(self, key: Hashable, work: Work) -> Trial:
        def notice(step: str) -> None:
            with self._guard:
                self._steps[key] = (step, time.monotonic())

        try:
            notice("start")
            trial = work(notice)
            costs = _costs(trial)
            with self._guard:
                self._done += 1
                self._cost = sum(costs, self._cost or 0.0) if costs else self._cost
            return trial
        finally:
            with self._guard:
                self._steps.pop(key, None)


def _costs(trial: Trial) -> list[float]:
    usages = [part.usage for part in (trial.review, trial.revision) if part is not None and part.usage is not None]
    return [usage.cost_usd for usage in usages if usage.cost_usd is not None]
