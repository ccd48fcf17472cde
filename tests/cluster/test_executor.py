"""The executor over workers of this process that answer at once: what one bad worker or message does to the rest."""

from __future__ import annotations

import dataclasses
import json
import queue
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import plain
from pytest_crab.agents import AGENTS
from pytest_crab.campaign.cluster import executor
from pytest_crab.campaign.cluster.connection import Greeted
from pytest_crab.campaign.cluster.executor import ClusterExecutor
from pytest_crab.campaign.cluster.plan import Release
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.treasury import Treasury
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.instances import load_instance
from pytest_crab.instances import lock
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import ModelSettings
from pytest_crab.trial import Crew
from pytest_crab.trial import CrewSpec
from pytest_crab.trial import unmeasured
from pytest_crab.types import Instance
from pytest_crab.types import Reason
from pytest_crab.types import Trial

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"
SECONDS = 20
INSTANCES = [load_instance(path) for path in sorted(QUICKSTART.glob("*/instance.yaml"))[:3]]
SPEC = CrewSpec(
    reviewer="human",
    reviewer_spec=REVIEWERS.spec("human", {}, Path()),
    agent="reference",
    agent_spec=AGENTS.spec("reference", {}, Path()),
)
CREW = Crew.build(SPEC)
PLAN = RunPlan(
    run="r",
    release=Release.here(),
    resume="t",
    runtime="local",
    base_image="b",
    proof_runs=1,
    models=ModelSettings(),
)


class Told:
    """What a scheduler says of a task."""

    def __init__(self, result: str) -> None:
        self.status = "finished"
        self._result = result

    def add_done_callback(self, heard: Callable[[Told], None]) -> None:
        self.heard = heard
        if self._result:
            heard(self)

    def done(self) -> bool:
        return bool(self._result)

    def result(self, timeout: float) -> str:
        return self._result


class Line:
    """Workers that answer what ``answer`` says: nothing where it is empty."""

    address = "here"

    def __init__(self, answer: Callable[[Task, str], str]) -> None:
        self.workers = {name: Member(address=name, name=name, slots=1, incarnation="one") for name in ("w1", "w2")}
        self.looks = 0
        self._answer = answer

    def seen(self) -> dict[str, Member]:
        self.looks += 1
        return dict(self.workers)

    def greet(self, members: Sequence[Member]) -> Greeted:
        return Greeted(members=tuple(members))

    def send(self, bundle: Any, address: str) -> Told:
        return Told("come")

    def submit(self, task: Task, address: str, needs: Sequence[Any]) -> Told:
        return Told(self._answer(task, address))

    def cancel(self, futures: Sequence[Any]) -> None:
        """Forget them."""

    def farewell(self, addresses: Sequence[str]) -> None:
        """Go."""

    def close(self) -> None:
        """Close."""


def record(task: Task) -> str:
    """The answer of a worker that ran the trial."""
    return json.dumps({"trial": plain.dump(trial_of(instance_of(task)))})


def instance_of(task: Task) -> Instance:
    (instance,) = [each for each in INSTANCES if lock.digest(each) == task.instance]
    return instance


def trial_of(instance: Instance) -> Trial:
    return unmeasured(instance, CREW, Reason.NOT_RUN, "as was said", runtime="local")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ClusterExecutor]]:
    monkeypatch.setattr(executor, "LOOK", 0.05)
    made: list[ClusterExecutor] = []

    def starter(line: Line, events: queue.SimpleQueue[Any] | None = None, **greeted: Any) -> ClusterExecutor:
        one = ClusterExecutor(
            line,  # type: ignore[arg-type]
            PLAN,
            {"human": ShippedCrew(spec=SPEC, bundle="0", modules={})},
            Treasury(tmp_path / "ledger", None),
            heard=lambda *_: None,
            check=lambda *_: None,
            events=queue.SimpleQueue() if events is None else events,
        )
        made.append(one)
        one.start(Greeted(**{"members": tuple(line.workers.values()), **greeted}))
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


def submit(one: ClusterExecutor, instance: Instance) -> Any:
    work = TrialWork(instance=instance, crew=CREW, repeat=1, here=lambda *_: trial_of(instance))
    return one.submit(work, lambda step: None)


def test_what_is_no_message_is_passed_over_and_said(start: Any) -> None:
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for message in ({"uid": "u", "settle": "1"}, ["nonsense"], {"uid": "u", "settle": "1"}):
        events.put(("told", message))
    one = start(Line(lambda task, _: record(task)), events)
    assert submit(one, INSTANCES[0]).result(SECONDS) == trial_of(INSTANCES[0])
    assert [sentence.split(" (")[0] for sentence in one.news.take()] == ["a worker sent what is no message"] * 2


@pytest.mark.parametrize("answer", ["{", "[]", "{}", '{"trial": 3}', '{"trial": {}}'])
def test_what_is_no_answer_breaks_its_own_trial(start: Any, answer: str) -> None:
    first, second = INSTANCES[:2]
    line = Line(lambda task, _: answer if instance_of(task) is first else record(task))
    one = start(line)
    broken = submit(one, first)
    assert submit(one, second).result(SECONDS) == trial_of(second)
    reasons = {result.reason for result in broken.result(SECONDS).results}
    assert reasons == {Reason.BROKEN}


def test_files_that_cannot_be_packed_break_their_own_trial(start: Any, tmp_path: Path) -> None:
    gone = dataclasses.replace(INSTANCES[0], folder=str(tmp_path / INSTANCES[0].id))
    one = start(Line(lambda task, _: record(task)))
    broken = submit(one, gone)
    assert submit(one, INSTANCES[1]).result(SECONDS) == trial_of(INSTANCES[1])
    assert "cannot be read" in str(broken.result(SECONDS).error)


def test_a_lost_worker_is_told_and_its_trial_given_again(start: Any) -> None:
    line = Line(lambda task, address: "" if address == "w1" else record(task))
    second = line.workers.pop("w2")
    one = start(line)
    future = submit(one, INSTANCES[0])
    until(lambda: one.roster.members["w1"].running)
    line.workers = {"w2": second}
    assert future.result(SECONDS) == trial_of(INSTANCES[0])
    assert one.news.take() == ["lost worker w1 (1 trial under way)"]
    assert one.news.total() == "1 worker was lost, 1 trial was given again"


def test_who_is_left_out_is_told_once(start: Any) -> None:
    line = Line(lambda task, _: record(task))
    fit, unfit = (line.workers["w1"],), frozenset({"w2"})
    one = start(line, members=fit, unfit=unfit, refused=("worker w2: mine cannot be imported",))
    assert one.news.take() == ["left out: worker w2: mine cannot be imported"]
    assert submit(one, INSTANCES[0]).result(SECONDS) == trial_of(INSTANCES[0])
    seen = line.looks
    until(lambda: line.looks > seen + 2)
    assert list(one.roster.members) == ["w1"]
    assert (one.news.take(), one.news.total()) == ([], None)
