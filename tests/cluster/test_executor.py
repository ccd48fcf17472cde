"""The executor over a cluster that does as the test says: what one bad worker or message does to the rest."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.campaign.cluster import executor
from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.executor import ClusterExecutor
from pytest_crab.campaign.cluster.plan import Handshake, Place, TrialAnswer, TrialTask, release
from pytest_crab.campaign.cluster.remote_store import StepServer
from pytest_crab.campaign.cluster.workers import Workers
from pytest_crab.campaign.trial_pool import TrialWork
from pytest_crab.instances import load_instance
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, CrewSpec, unmeasured_trial
from pytest_crab.types import Instance, Reason, Trial
from tests.cluster.conftest import PLAN

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"
SECONDS = 20
INSTANCES = [load_instance(path) for path in sorted(QUICKSTART.glob("*/instance.yaml"))[:3]]
SPEC = CrewSpec(
    reviewer="human",
    reviewer_spec=REVIEWERS.spec("human", {}, Path()),
    agent="simulated",
    agent_spec=AGENTS.spec("simulated", {}, Path()),
)
CREW = Crew.build(SPEC)
LOCAL = Place(runtime="local", base_image="b")

#: In the place of an answer: Dask has given the task up.
GIVEN_UP = object()


class Task:
    """A future of Dask's, which ``end`` ends."""

    def __init__(self) -> None:
        self.status = "pending"
        self.outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def end(self, outcome: Any) -> None:
        self.status = "finished"
        self.outcome.set_result(outcome)


class FakeConnection:
    """A cluster of two workers: a task ends at once with what ``answer`` says, with None when it is ended."""

    address = "here"

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.workers = {name: state(name) for name in ("w1", "w2")}
        self.places: dict[str, Place] = {}
        self.files: list[Task] = []
        self.given: list[tuple[TrialTask, Task, Task]] = []
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.left: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()
        self._answer = answer
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._live)

    def _live(self) -> None:
        self.loop.run_forever()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def find_workers(self) -> dict[str, WorkerState]:
        return dict(self.workers)

    async def handshake(self, addresses: Sequence[str]) -> dict[str, Any]:
        self.asked += addresses
        await self.answering.wait()
        return {
            name: Handshake(uid=self.workers[name].uid, release=release(), place=self.places.get(name, LOCAL))
            for name in addresses
        }

    async def listen(self, hear: Callable[[Any], Any]) -> None:
        """Send nothing."""

    async def end_messages(self) -> None:
        """Send nothing more."""

    def put(self, bundle: bytes) -> Task:
        self.files.append(Task())
        return self.files[-1]

    def submit(self, task: TrialTask, files: Any, number: int) -> Task:
        remote = Task()
        self.given.append((task, remote, files))
        answer = self._answer(task.crew)
        if answer is not None:
            remote.end(answer)
        return remote

    async def outcome(self, remote: Task, record: type) -> Any:
        outcome = await asyncio.wrap_future(remote.outcome)
        return None if outcome is GIVEN_UP else outcome

    async def answer(self, call: str, message: Any) -> None:
        self.answers[call] = message

    async def cancel(self, futures: Sequence[Any]) -> None:
        """Forget them."""
        for each in futures:
            each.end(GIVEN_UP)

    async def disconnect(self, addresses: Sequence[str]) -> None:
        self.left += addresses

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


def state(name: str) -> WorkerState:
    return WorkerState(address=name, name=name, slots=1, incarnation="one", uid=f"uid-{name}")


def record(instance: Instance) -> TrialAnswer:
    """The answer of a worker that ran the trial."""
    return TrialAnswer(trial=trial_of(instance))


def trial_of(instance: Instance) -> Trial:
    return unmeasured_trial(instance, CREW, Reason.NOT_RUN, "as was said")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ClusterExecutor]]:
    monkeypatch.setattr(executor, "LOOK", 0.05)
    made: list[ClusterExecutor] = []

    def starter(line: Any, stored: Any = None) -> ClusterExecutor:
        line.thread.start()
        workers = Workers(line)
        line.spawn(workers.await_first()).result(SECONDS)
        one = ClusterExecutor(
            line,
            workers,
            PLAN,
            budget=BudgetLedger(tmp_path / "ledger", 5.0, 1.0),
            steps=StepServer(FileStore(tmp_path / "store"), (), ()),
            stored=stored,
        )
        made.append(one)
        return one

    yield starter
    for one in made:
        one.stop()
        one.shutdown()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def submit(one: ClusterExecutor, instance: Instance, repeat: int = 1, heard: Any = lambda *_: None) -> Any:
    work = TrialWork(instance=instance, crew=CREW, repeat=repeat, here=lambda *_: trial_of(instance), heard=heard)
    return one.submit(work, lambda step: None)


def say(one: ClusterExecutor, message: Any) -> None:
    """Have the run hear a worker's message."""
    one._connection.spawn(one.hear(message)).result(SECONDS)


def begin(one: ClusterExecutor, line: FakeConnection, task: TrialTask, worker: str) -> Any:
    """Have a worker begin a trial, and return what it is answered."""
    call = f"{task.key}-{worker}"
    say(one, {"uid": f"uid-{worker}", "name": worker, "key": task.key, "begin": "t", "call": call})
    return line.answers[call]


FIRST, SECOND, THIRD = INSTANCES


def test_a_malformed_message_is_ignored_and_said(start: Any) -> None:
    one = start(FakeConnection(lambda _: record(FIRST)))
    for message in (
        {"uid": "uid-w1", "name": "w1", "entries": 1},
        ["nonsense"],
        {"uid": "uid-w1", "name": "w1", "entries": 1},
    ):
        say(one, message)
    assert submit(one, FIRST).result(SECONDS) == trial_of(FIRST)
    assert [sentence.split(" (")[0] for sentence in one.events.take()] == ["a worker sent a malformed message"] * 2


@pytest.mark.parametrize("answer", [ValueError("no"), TrialAnswer(problem="no"), TrialAnswer()])
def test_a_worker_that_fails_breaks_its_own_trial(start: Any, answer: Any) -> None:
    answers = iter([answer, record(SECOND)])
    one = start(FakeConnection(lambda _: next(answers)))
    broken = submit(one, FIRST)
    assert submit(one, SECOND).result(SECONDS) == trial_of(SECOND)
    assert {result.reason for result in broken.result(SECONDS).results} == {Reason.BROKEN}


def test_files_that_cannot_be_packed_break_their_own_trial(start: Any, tmp_path: Path) -> None:
    gone = dataclasses.replace(FIRST, folder=str(tmp_path / FIRST.id))
    one = start(FakeConnection(lambda _: record(SECOND)))
    broken = submit(one, gone)
    assert submit(one, SECOND).result(SECONDS) == trial_of(SECOND)
    assert "cannot be read" in str(broken.result(SECONDS).error)


def test_a_submission_that_fails_unexpectedly_ends_all_trials(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    first = submit(one, FIRST)
    until(lambda: line.given)
    monkeypatch.setattr(line, "put", lambda *_: 1 // 0)
    for future in (submit(one, SECOND), first, submit(one, THIRD)):
        assert "ZeroDivisionError" in str(future.result(SECONDS).error)
    assert not one._jobs


def test_the_files_of_an_instance_are_put_once_while_a_trial_needs_them(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    for instance in (FIRST, FIRST, SECOND):
        submit(one, instance)
    until(lambda: len(line.given) == 3)
    assert [files for _, _, files in line.given] == [line.files[0], line.files[0], line.files[1]]


def test_a_trial_that_nobody_waits_for_is_not_begun(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    future = submit(one, FIRST)
    until(lambda: line.given)
    assert future.cancel()
    task, remote, _ = line.given[0]
    assert begin(one, line, task, "w1") == {"unwanted": True}
    remote.end(TrialAnswer(problem="worker w1: the run was stopped"))
    until(lambda: not one._jobs)
    submit(one, SECOND)
    until(lambda: len(line.given) == 2)
    assert begin(one, line, line.given[1][0], "w1") == {"allowance": 1.0}


def test_a_lost_worker_is_said_and_its_trial_charged_and_waited_for(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    future = submit(one, FIRST)
    until(lambda: line.given)
    task, remote, _ = line.given[0]
    assert begin(one, line, task, "w1") == {"allowance": 1.0}
    del line.workers["w1"]
    until(lambda: len(one.workers.known) == 1)
    assert begin(one, line, task, "w2") == {"allowance": 1.0}
    remote.end(record(FIRST))
    assert future.result(SECONDS) == trial_of(FIRST)
    assert one.events.take() == ["lost worker w1 (1 trial under way)"]
    assert one.events.summary() == "1 worker was lost, 1 trial was given again"


def begun(start: Any) -> tuple[FakeConnection, Any, Any]:
    """A connection, its executor, and the task of a trial that the worker w1 has begun."""
    line = FakeConnection(lambda _: None)
    one = start(line)
    submit(one, FIRST)
    until(lambda: line.given)
    task = line.given[0][0]
    begin(one, line, task, "w1")
    return line, one, task


def test_a_step_on_a_lost_worker_is_not_noted(start: Any) -> None:
    line, one, task = begun(start)
    say(one, {"uid": "uid-w1", "name": "w1", "key": task.key, "notice": "review", "call": "first"})
    del line.workers["w1"]
    until(lambda: len(one.workers.known) == 1)
    say(one, {"uid": "uid-w1", "name": "w1", "key": task.key, "notice": "revision", "call": "second"})
    assert (line.answers["first"], line.answers["second"]) == ({"noted": True}, {})


def test_what_a_lost_worker_still_tells_is_booked_with_its_name(start: Any, tmp_path: Path) -> None:
    line, one, task = begun(start)
    line.workers["w1"] = dataclasses.replace(state("w1"), name="new", incarnation="two", uid="uid-new")
    until(lambda: any(worker.name == "new" for worker in one.workers.known.values()))
    late = {"trial": "t", "complete": True, "cost_usd": 0.25}
    say(one, {"uid": "uid-w1", "name": "w1", "key": task.key, "notice": "verdict", "entries": {"0": late}})
    booked = [json.loads(each) for each in (tmp_path / "ledger").read_text().splitlines()]
    assert booked == [{**late, "worker": "w1"}]
    assert one._budget.spent == 0.25


def test_a_call_under_way_on_a_worker_that_was_cut_off_is_booked_once(start: Any, tmp_path: Path) -> None:
    line, one, task = begun(start)
    say(one, {"uid": "uid-w1", "name": "w1", "key": task.key, "notice": "review"})
    del line.workers["w1"]
    until(lambda: len(one.workers.known) == 1)
    late = {"trial": "t", "complete": False, "estimated_usd": 0.25}
    say(one, {"uid": "uid-w1", "name": "w1", "key": task.key, "end": False, "entries": {"0": late}})
    one.stop()
    one.shutdown()
    booked = [json.loads(each) for each in (tmp_path / "ledger").read_text().splitlines()]
    assert booked == [{**late, "worker": "w1"}]
    assert one._budget.spent == 0.25


def test_a_worker_that_is_not_taken_in_yet_is_to_ask_again(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    submit(one, FIRST)
    until(lambda: line.given)
    assert begin(one, line, line.given[0][0], "w3") == {}


def test_a_worker_that_comes_while_the_run_ends_keeps_nothing_of_it(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    line.answering.clear()
    line.workers["w3"] = state("w3")
    until(lambda: "w3" in line.asked)
    ending = threading.Thread(target=one.shutdown)
    ending.start()
    until(lambda: one._gone)
    line.loop.call_soon_threadsafe(line.answering.set)
    ending.join()
    assert sorted(line.left) == ["w1", "w2", "w3"]


def test_a_trial_that_three_workers_are_lost_with_is_broken_and_says_so(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    one = start(line)
    future = submit(one, FIRST)
    until(lambda: line.given)
    line.given[0][1].end(GIVEN_UP)  # it has waited only, where workers were lost
    until(lambda: len(line.given) == 2)
    task, remote, _ = line.given[1]
    assert task.key != line.given[0][0].key
    for name in ("w3", "w4", "w5"):
        line.workers[name] = state(name)
        until(lambda: len(one.workers.known) == 3)
        begin(one, line, task, name)
        del line.workers[name]
        until(lambda: len(one.workers.known) == 2)
    remote.end(GIVEN_UP)
    error = str(future.result(SECONDS).error)
    assert "w3, w4, w5" in error


def test_what_dask_forgets_each_time_is_broken_in_the_end(start: Any) -> None:
    line = FakeConnection(lambda _: GIVEN_UP)
    error = str(submit(start(line), FIRST).result(SECONDS).error)
    assert "Dask gave the trial up" in error
    assert "see the logs" in error


def test_files_that_dask_could_not_keep_are_put_anew(start: Any) -> None:
    line = FakeConnection(lambda _: None)
    future = submit(start(line), FIRST)
    until(lambda: line.given)
    line.files[0].status = "error"
    line.given[0][1].end(GIVEN_UP)
    until(lambda: len(line.given) == 2)
    line.given[1][1].end(record(FIRST))
    assert future.result(SECONDS) == trial_of(FIRST)
    assert len(line.files) == 2


class Stored:
    """A store that has the trials of one instance; nothing is looked up before ``go``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Place]] = []
        self.go = threading.Event()
        self.stopped = self.closed = False

    def answer(self, work: TrialWork, place: Place) -> TrialAnswer | None:
        assert self.go.wait(SECONDS)
        self.asked.append((work.instance.id, place))
        return record(FIRST) if work.instance is FIRST else None

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None:
        self.closed = True


def test_a_stored_trial_asks_no_worker_and_is_heard_of_as_any_other(start: Any) -> None:
    line, stored, heard = FakeConnection(lambda _: record(SECOND)), Stored(), []
    one = start(line, stored)
    first, second = (submit(one, each, heard=lambda *said: heard.append(said[1])) for each in (FIRST, SECOND))
    stored.go.set()
    assert (first.result(SECONDS), second.result(SECONDS)) == (trial_of(FIRST), trial_of(SECOND))
    assert [task.key.rpartition("-")[0] for task, _, _ in line.given] == ["crab-trial-r-2"]
    assert dict(stored.asked) == {FIRST.id: LOCAL, SECOND.id: LOCAL}
    assert sorted(heard, key=lambda trial: trial.instance) == sorted(
        (trial_of(FIRST), trial_of(SECOND)), key=lambda trial: trial.instance
    )
    one.shutdown()
    assert stored.closed


def test_workers_of_several_kinds_leave_no_trial_to_the_store(start: Any) -> None:
    line, stored = FakeConnection(lambda _: record(FIRST)), Stored()
    line.places["w2"] = Place(runtime="docker", base_image="b")
    assert submit(start(line, stored), FIRST).result(SECONDS) == trial_of(FIRST)
    assert len(line.given) == 1
    assert not stored.asked


def test_what_waits_to_be_looked_up_ends_with_the_run(start: Any) -> None:
    line, stored = FakeConnection(lambda _: None), Stored()
    one = start(line, stored)
    waiting = [submit(one, each) for each in (FIRST, SECOND, THIRD, THIRD)]
    ending = threading.Thread(target=one.shutdown)
    ending.start()
    until(lambda: one._gone)
    stored.go.set()
    ending.join(SECONDS)
    assert not ending.is_alive()
    assert all(future.done() for future in waiting)
    assert len(stored.asked) <= executor.LOOKUPS
    assert not line.given


def test_a_stop_ends_what_is_looked_up(start: Any) -> None:
    stored = Stored()
    start(FakeConnection(lambda _: None), stored).stop()
    assert stored.stopped
