"""Queues in files: one JSON object per line, one line per job."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable

from jobqueue.errors import StorageError
from jobqueue.job import Job, State


def save(jobs: Iterable[Job], path: str | os.PathLike[str]) -> None:
    """Write all *jobs* to *path*; what was there is replaced in one step."""
    beside = f"{os.fspath(path)}.new"
    with open(beside, "w", encoding="utf-8") as stream:
        for job in jobs:
            stream.write(json.dumps({**dataclasses.asdict(job), "state": job.state.value}) + "\n")
    os.replace(beside, path)


def load(path: str | os.PathLike[str]) -> list[Job]:
    """Read the jobs of a file that `save` wrote; raise StorageError if that fails."""
    jobs = []
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                record = json.loads(line)
                jobs.append(
                    Job(
                        id=record["id"],
                        task=record["task"],
                        arguments=record["arguments"],
                        due=record["due"],
                        state=State(record["state"]),
                        attempts=record["attempts"],
                        error=record["error"],
                    )
                )
            except (ValueError, TypeError, KeyError) as error:
                raise StorageError(f"{os.fspath(path)}, line {number}: not a job ({error!r})") from error
    return jobs
