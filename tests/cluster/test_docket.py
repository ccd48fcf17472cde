"""Jobs of a run: which try is the present one, and which have nobody."""

from __future__ import annotations

from typing import Any

from pytest_crab.campaign.cluster.docket import Docket
from pytest_crab.campaign.cluster.docket import Job


def job(number: int) -> Job:
    nothing: Any = None
    return Job(number, f"run-{number}", nothing, lambda step: None)


def test_only_the_present_try_is_heard() -> None:
    docket, one = Docket(), job(1)
    docket.add(one)
    assert docket.tried("run-1-0") is one
    one.lost.append("w1")
    assert docket.tried("run-1-0") is None
    assert docket.tried("run-1-1") is one


def test_a_job_without_scheduler_or_worker_is_stranded() -> None:
    docket, jobs = Docket(), [job(number) for number in range(4)]
    remote: Any = object()
    for one in jobs:
        docket.add(one)
    for one, where in zip(jobs[:3], ("w1", "w1", "gone"), strict=True):
        docket.take(one.key)
        one.place, one.remote = where, remote
    jobs[1].remote = None
    assert docket.stranded({"w1"}) == jobs[1:3]  # and the last one waits
    assert docket.remotes() == [remote, remote]
    for one in jobs:
        docket.forget(one)
    assert not docket
    assert not docket.stranded({})
