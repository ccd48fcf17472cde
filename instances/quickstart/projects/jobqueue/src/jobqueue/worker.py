"""Takes jobs out of a queue and does them."""

from __future__ import annotations

import logging

from jobqueue.job import Job
from jobqueue.queue import Queue
from jobqueue.tasks import Tasks

logger = logging.getLogger(__name__)


class Worker:
    """Runs the jobs of *queue* with the functions of *tasks*, one after the other."""

    def __init__(self, queue: Queue, tasks: Tasks) -> None:
        self.queue = queue
        self.tasks = tasks

    def run_due(self) -> int:
        """Run all jobs that are due by now; return how many."""
        count = 0
        while (job := self.queue.claim()) is not None:
            self.run(job)
            count += 1
        return count

    def run(self, job: Job) -> None:
        """Run one job. Whatever the task raises is logged and ends up in the job."""
        try:
            self.tasks.find(job.task)(**job.arguments)
        except Exception as error:
            logger.exception("job %d (%s) failed", job.id, job.task)
            self.queue.fail(job, f"{type(error).__name__}: {error}")
        else:
            self.queue.finish(job)
