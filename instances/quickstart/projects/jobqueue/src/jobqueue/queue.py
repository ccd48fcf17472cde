"""The queue itself: which job is next, and what became of it."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jobqueue.errors import JobNotFound
from jobqueue.job import Job, State


class Queue:
    """Jobs in memory, handed out when they are due, the earliest first.

    Jobs that are due at the same moment are handed out in the order in which they were put. *clock* gives the present as seconds
    since the epoch.
    """

    def __init__(self, jobs: Iterable[Job] = (), *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._jobs: dict[int, Job] = {}
        self._waiting: list[tuple[float, int]] = []
        for job in jobs:
            self._jobs[job.id] = job
            if job.state is State.WAITING:
                heapq.heappush(self._waiting, (job.due, job.id))
        self._last_id = max(self._jobs, default=0)

    def __len__(self) -> int:
        """How many jobs wait, due or not."""
        return len(self._waiting)

    def __iter__(self) -> Iterator[Job]:
        """All jobs of the queue, whatever their state, in the order of their ids."""
        return iter([self._jobs[id] for id in sorted(self._jobs)])

    def put(self, task: str, /, *, delay: float = 0.0, **arguments: Any) -> Job:
        """Add a call of *task*, due in *delay* seconds."""
        self._last_id += 1
        job = Job(self._last_id, task, arguments, due=self.clock() + delay)
        self._jobs[job.id] = job
        heapq.heappush(self._waiting, (job.due, job.id))
        return job

    def get(self, id: int) -> Job:
        """The job with that *id*; raise JobNotFound if there is none."""
        try:
            return self._jobs[id]
        except KeyError:
            raise JobNotFound(f"no job has the id {id}") from None

    def claim(self) -> Job | None:
        """Take the next job that is due, or None. It is running from now on."""
        if not self._waiting or self._waiting[0][0] > self.clock():
            return None
        _, id = heapq.heappop(self._waiting)
        job = self._jobs[id]
        job.state = State.RUNNING
        job.attempts += 1
        return job

    def finish(self, job: Job) -> None:
        """The work is done."""
        job.state = State.DONE

    def fail(self, job: Job, error: str) -> None:
        """The work could not be done; *error* says why."""
        job.state = State.FAILED
        job.error = error
