"""Which workers take a run, which are left out and why, and when a run has to end for the want of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_crab.campaign.cluster import workers
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.plan import release
from pytest_crab.campaign.cluster.workers import Workers
from pytest_crab.errors import EngineError

W1, W2 = (WorkerState(address=name, name=name, slots=1, incarnation="one") for name in ("w1", "w2"))


class FakeScheduler:
    """A scheduler that knows ``there``, of which every worker answers what ``answers`` has, else takes the run."""

    address = "here"

    def __init__(self, *there: WorkerState) -> None:
        self.there = {worker.address: worker for worker in there}
        self.slotless = 0
        self.silent = False
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.left: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {"workers": {**self.there, **dict.fromkeys(map(str, range(self.slotless)))}}

    def find_workers(self) -> dict[str, WorkerState]:
        if self.silent:
            raise OSError("no answer")
        return {address: dataclasses.replace(worker) for address, worker in self.there.items()}

    def handshake(self, addresses: Sequence[str]) -> dict[str, Any]:
        self.asked += addresses
        found = {each: self.answers.get(each, {"release": release(), "problems": []}) for each in addresses}
        if any(isinstance(answer, TimeoutError) for answer in found.values()):
            raise TimeoutError
        return {each: {"uid": f"uid-{each}", **answer} if answer else answer for each, answer in found.items()}

    def disconnect(self, addresses: Sequence[str]) -> None:
        self.left += addresses

    def gone_sentence(self) -> str:
        return "the scheduler is gone"


def taken(line: FakeScheduler) -> Workers:
    found = Workers(line)  # type: ignore[arg-type]
    found.await_first()
    return found


def refusal(line: FakeScheduler) -> str:
    with pytest.raises(EngineError) as raised:
        taken(line)
    return str(raised.value)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_worker_without_the_resource_is_given_nothing() -> None:
    line = FakeScheduler()
    line.slotless = 2
    sentence = refusal(line)
    assert "none of the 2 workers" in sentence
    assert '--resources "crab=2"' in sentence


def test_no_worker_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FIRST", 0.0)
    assert "no worker has come to here" in refusal(FakeScheduler())


def test_a_run_that_no_worker_takes_is_refused_with_each_reason_once() -> None:
    line = FakeScheduler(W1, W2)
    other = {"release": "pytest-crab 0 with harness f00d", "problems": []}
    line.answers = {"w1": other, "w2": other}
    (sentence,) = refusal(line).splitlines()
    assert "workers w1, w2: pytest-crab 0 with harness f00d is installed" in sentence
    assert release() in sentence
    assert line.left == ["w1", "w2"]
    line.answers = {"w1": None, "w2": {"release": release(), "problems": ["no disk"]}}
    first, second = refusal(line).splitlines()
    assert "worker w1: no answer that could be read" in first
    assert second == "worker w2: no disk"


def test_a_worker_that_is_left_out_is_said_once_and_not_asked_again() -> None:
    line = FakeScheduler(W1, W2)
    line.answers["w2"] = {"release": release(), "problems": ["no disk"]}
    found = taken(line)
    assert [found.look(needed=True) for _ in range(2)] == [[], []]
    assert (list(found.known), line.asked) == (["w1"], ["w1", "w2"])
    assert found.events.take() == ["left out: worker w2: no disk"]


def test_a_worker_that_comes_later_is_taken_in_once_it_answers() -> None:
    line = FakeScheduler(W1)
    found = taken(line)
    line.there["w2"] = W2
    line.answers["w2"] = TimeoutError()
    found.look(needed=True)
    until(lambda: line.asked == ["w1", "w2"])
    del line.answers["w2"]
    until(lambda: found.look(needed=True) == [] and found.find("uid-w2"))
    assert found.slots == 2


def test_another_process_at_the_same_address_is_another_worker() -> None:
    line = FakeScheduler(W1)
    found = taken(line)
    line.there["w1"] = dataclasses.replace(W1, incarnation="two")
    assert [worker.incarnation for worker in found.look(needed=True)] == ["one"]
    until(lambda: found.known)
    assert found.known["w1"].incarnation == "two"


def test_a_run_ends_without_a_scheduler_or_without_workers_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    line = FakeScheduler(W1)
    found = taken(line)
    line.silent = True
    assert (found.look(needed=True), found.answers) == ([], False)
    monkeypatch.setattr(workers, "SILENT", 0.0)
    with pytest.raises(EngineError, match="the scheduler is gone"):
        found.look(needed=True)
    line.silent = False
    del line.there["w1"]
    monkeypatch.setattr(workers, "ALONE", 0.0)
    assert len(found.look(needed=True)) == 1
    assert found.look(needed=False) == []
    with pytest.raises(EngineError, match="no worker of here is left"):
        found.look(needed=True)
