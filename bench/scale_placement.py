"""Where trials run, by a rule that is near to Dask's: where their files are, or at a worker that has nothing to do."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass
class _Worker:
    """A worker's free slots, and the trials that wait there with their instances."""

    free: int
    waiting: deque[tuple[int, int]] = field(default_factory=deque)
    running: int = 0

    @property
    def load(self) -> int:
        return len(self.waiting) + self.running


class Placement:
    """Gives the trials of ``workers`` workers with so many slots each to them; all are known by their numbers."""

    def __init__(self, workers: int, slots: int) -> None:
        self._workers = [_Worker(slots) for _ in range(workers)]
        self._homes: dict[int, _Worker] = {}

    def wait(self, trial: int, instance: int) -> None:
        """Have a trial wait where the files of its instance are; the first one puts them where there is least to do."""
        if instance not in self._homes:
            self._homes[instance] = min(self._workers, key=lambda worker: worker.load)
        self._homes[instance].waiting.append((trial, instance))

    def pick(self) -> tuple[int, int] | None:
        """Return the next trial and the worker that runs it from now on; None: no slot is free, or nothing waits.

        A worker with nothing to do takes what would come last at the one where most trials wait.
        """
        for number, worker in enumerate(self._workers):
            if worker.free and worker.waiting:
                return self._begin(worker.waiting.popleft()[0], number)
        idle = next((number for number, worker in enumerate(self._workers) if worker.free), None)
        busiest = max(self._workers, key=lambda worker: len(worker.waiting))
        if idle is None or not busiest.waiting:
            return None
        return self._begin(busiest.waiting.pop()[0], idle)

    def done(self, worker: int) -> None:
        """Note that a worker has ended a trial."""
        self._workers[worker].free += 1
        self._workers[worker].running -= 1

    def _begin(self, trial: int, number: int) -> tuple[int, int]:
        self._workers[number].free -= 1
        self._workers[number].running += 1
        return trial, number
