"""Which workers take a run, which are left out and why, and when a run has to end for the want of them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_crab.campaign.cluster import workers
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.plan import Handshake, release
from pytest_crab.campaign.cluster.workers import WorkerEvents, Workers
from pytest_crab.errors import EngineError

Run = Callable[[Awaitable[Any]], Any]

W1, W2 = (WorkerState(address=name, name=name, slots=1, incarnation="one") for name in ("w1", "w2"))


class FakeScheduler:
    """A scheduler that knows ``there``, of which every worker answers what ``answers`` has, else takes the run."""

    address = "here"

    def __init__(self, *there: WorkerState) -> None:
        self.there = {worker.address: worker for worker in there}
        self.silent = False
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.left: list[str] = []
        self.spawned: list[asyncio.Task[Any]] = []

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        self.spawned.append(asyncio.ensure_future(work))
        return self.spawned[-1]

    async def find_workers(self) -> dict[str, WorkerState]:
        if self.silent:
            raise OSError("no answer")
        return {address: dataclasses.replace(worker) for address, worker in self.there.items()}

    async def handshake(self, addresses: Sequence[str]) -> dict[str, Any]:
        self.asked += addresses
        found = {each: self.answers.get(each, {"release": release(), "problems": ()}) for each in addresses}
        if any(isinstance(answer, TimeoutError) for answer in found.values()):
            raise TimeoutError
        return {each: Handshake(uid=f"uid-{each}", **answer) if answer else answer for each, answer in found.items()}

    async def disconnect(self, addresses: Sequence[str]) -> None:
        self.left += addresses

    def gone_sentence(self) -> str:
        return "the scheduler is gone"


@pytest.fixture
def run() -> Iterator[Run]:
    """Runs coroutines in one loop, in a thread of its own: Playwright leaves a running loop in the tests' thread."""
    loop = asyncio.new_event_loop()
    with ThreadPoolExecutor(1) as thread:
        yield lambda work: thread.submit(loop.run_until_complete, work).result()
    loop.close()


def taken(run: Run, line: FakeScheduler) -> Workers:
    found = Workers(line)  # type: ignore[arg-type]
    run(found.await_first())
    return found


def refusal(run: Run, line: FakeScheduler) -> str:
    with pytest.raises(EngineError) as raised:
        taken(run, line)
    return str(raised.value)


def look(run: Run, found: Workers, line: FakeScheduler, *, needed: bool = True) -> list[WorkerState]:
    """Return the workers that are gone, once those that came have answered."""
    lost: list[WorkerState] = run(found.look(needed=needed))
    for each in line.spawned:
        run(each)
    return lost


def test_a_worker_without_the_resource_is_given_nothing(run: Run) -> None:
    line = FakeScheduler(*(dataclasses.replace(worker, slots=0) for worker in (W1, W2)))
    sentence = refusal(run, line)
    assert "none of the 2 workers" in sentence
    assert '--resources "crab=2"' in sentence


def test_no_worker_comes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FIRST", 0.0)
    assert "no worker has come to here" in refusal(run, FakeScheduler())


def test_a_run_that_no_worker_takes_is_refused_with_each_reason_once(run: Run) -> None:
    line = FakeScheduler(W1, W2)
    other = {"release": "pytest-crab 0 with harness f00d", "problems": ()}
    line.answers = {"w1": other, "w2": other}
    (sentence,) = refusal(run, line).splitlines()
    assert "workers w1, w2: pytest-crab 0 with harness f00d is installed" in sentence
    assert release() in sentence
    assert line.left == ["w1", "w2"]
    line.answers = {"w1": None, "w2": {"release": release(), "problems": ("no disk",)}}
    first, second = refusal(run, line).splitlines()
    assert "worker w1: no answer that could be read" in first
    assert second == "worker w2: no disk"


def test_a_worker_that_is_left_out_is_said_once_and_not_asked_again(run: Run) -> None:
    line = FakeScheduler(W1, W2)
    line.answers["w2"] = {"release": release(), "problems": ("no disk",)}
    found = taken(run, line)
    assert [look(run, found, line) for _ in range(2)] == [[], []]
    assert (list(found.known), line.asked) == (["uid-w1"], ["w1", "w2"])
    assert found.events.take() == ["left out: worker w2: no disk"]


def test_a_worker_that_comes_later_is_taken_in_once_it_answers(run: Run) -> None:
    line = FakeScheduler(W1)
    found = taken(run, line)
    line.there["w2"] = W2
    line.answers["w2"] = TimeoutError()
    assert look(run, found, line) == []
    assert (line.asked, found.slots) == (["w1", "w2"], 1)
    del line.answers["w2"]
    assert look(run, found, line) == []
    assert list(found.known) == ["uid-w1", "uid-w2"]
    assert found.slots == 2


def test_another_process_at_the_same_address_is_another_worker(run: Run) -> None:
    line = FakeScheduler(W1)
    found = taken(run, line)
    line.there["w1"] = dataclasses.replace(W1, incarnation="two")
    assert [worker.incarnation for worker in look(run, found, line)] == ["one"]
    assert found.known["uid-w1"].incarnation == "two"


def test_a_run_ends_without_a_scheduler_or_without_workers_that_it_needs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = FakeScheduler(W1)
    found = taken(run, line)
    line.silent = True
    assert (look(run, found, line), found.answers) == ([], False)
    monkeypatch.setattr(workers, "SILENT", 0.0)
    with pytest.raises(EngineError, match="the scheduler is gone"):
        look(run, found, line)
    line.silent = False
    del line.there["w1"]
    monkeypatch.setattr(workers, "ALONE", 0.0)
    assert len(look(run, found, line)) == 1
    assert look(run, found, line, needed=False) == []
    with pytest.raises(EngineError, match="no worker of here is left"):
        look(run, found, line)


def test_a_sentence_is_said_once_and_taken_once() -> None:
    events = WorkerEvents()
    for sentence in ("one", "two", "one"):
        events.add(sentence)
    assert events.take() == ["one", "two"]
    assert events.take() == []


def test_losses_are_counted() -> None:
    events = WorkerEvents()
    assert events.summary() is None
    events.add_lost(["a"], 1)
    events.add_lost(list("abcdef"), 4)
    assert events.take() == [
        "lost worker a (1 trial under way)",
        "lost workers a, b, c and 3 more (4 trials under way)",
    ]
    assert events.summary() == "7 workers were lost, 5 trials were given again"
