"""The trials that a cluster has been asked for: which wait, which are under way, and under what keys."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from pytest_crab.campaign.executor import Notice
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.types import Trial

if TYPE_CHECKING:
    from distributed import Future as RemoteFuture


@dataclass(eq=False)
class Job:
    """One trial that was asked for; ``place`` is where it is tried, ``lost`` names the workers it was lost with."""

    number: int
    key: str
    work: TrialWork
    notice: Notice
    future: Future[Trial] = field(default_factory=Future)
    remote: RemoteFuture | None = None
    place: str = ""
    lost: list[str] = field(default_factory=list)

    @property
    def task_key(self) -> str:
        """What the present try is called on the cluster."""
        return f"{self.key}-{len(self.lost)}"


class Docket:
    """Jobs by key, in the order of asking; those that wait are not with any worker."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._waiting: dict[str, Job] = {}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def wait(self, job: Job) -> None:
        """Put a job where its number says."""
        self._jobs[job.key] = job
        waiting = sorted([*self._waiting.values(), job], key=lambda each: each.number)
        self._waiting = {each.key: each for each in waiting}

    def take(self, key: str) -> Job:
        """A job that waits, and then does not any more."""
        return self._waiting.pop(key)

    def get(self, key: str) -> Job | None:
        """The job of a key, unless it is done."""
        return self._jobs.get(key)

    def tried(self, task_key: str) -> Job | None:
        """The job whose present try is called so."""
        job = self._jobs.get(task_key.rpartition("-")[0])
        return job if job is not None and job.task_key == task_key else None

    def choices(self) -> list[tuple[str, str]]:
        """The (key, repository) of all that wait, in order."""
        return [(key, job.work.instance.repo) for key, job in self._waiting.items()]

    def all(self) -> list[Job]:
        """Every job that is not done, in order."""
        return sorted(self._jobs.values(), key=lambda job: job.number)

    def remotes(self) -> list[RemoteFuture]:
        """What is under way on the cluster."""
        return [job.remote for job in self._jobs.values() if job.remote is not None]

    def stranded(self) -> list[Job]:
        """Jobs that neither wait nor are under way, as their scheduler was lost meanwhile."""
        return [job for job in self.all() if job.remote is None and job.key not in self._waiting]

    def forget(self, job: Job) -> None:
        """Keep nothing of a job."""
        self._jobs.pop(job.key, None)
        self._waiting.pop(job.key, None)
        job.remote = None
