"""The trials that a cluster has been asked for: which wait, which are under way, and under what keys."""

from __future__ import annotations

from collections.abc import Container
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
    """Jobs by key; those that were taken are, or have been, with a worker."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._taken: dict[str, Job] = {}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def add(self, job: Job) -> None:
        """Put a job down, which is not with anybody."""
        self._jobs[job.key] = job

    def take(self, key: str) -> Job:
        """A job that somebody is about to be given."""
        job = self._taken[key] = self._jobs[key]
        return job

    def get(self, key: str) -> Job | None:
        """The job of a key, unless it is done."""
        return self._jobs.get(key)

    def tried(self, task_key: str) -> Job | None:
        """The job whose present try is called so."""
        job = self._jobs.get(task_key.rpartition("-")[0])
        return job if job is not None and job.task_key == task_key else None

    def all(self) -> list[Job]:
        """Every job that is not done, in order."""
        return sorted(self._jobs.values(), key=lambda job: job.number)

    def remotes(self) -> list[RemoteFuture]:
        """What is under way on the cluster."""
        return [job.remote for job in self._taken.values() if job.remote is not None]

    def stranded(self, there: Container[str]) -> list[Job]:
        """Jobs that were taken and are not under way: their scheduler was lost meanwhile, or is without their worker.

        ``there`` are the addresses of the workers that it has.
        """
        return [job for job in self._taken.values() if job.remote is None or job.place not in there]

    def forget(self, job: Job) -> None:
        """Keep nothing of a job."""
        self._jobs.pop(job.key, None)
        self._taken.pop(job.key, None)
        job.remote = None
