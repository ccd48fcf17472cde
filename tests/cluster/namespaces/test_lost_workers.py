"""Workers are killed, one inside a model call of a real client: the numbers of one process, and nothing made again."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections import Counter
from typing import Any

import pytest

from pytest_crab.store import FileStore
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.leaks import Leaks
from pytest_crab.testing.provider import Asked, say

pytestmark = pytest.mark.bubblewrap

INSTANCES = ("pans-2", "pans-3", "pots-1", "pots-2")


class Deadly:
    """Says what a reviewer is asked for, but holds the first call about one pull request until its worker is dead."""

    def __init__(self, victim: str, review: Any, about: Any) -> None:
        self.victim = victim
        self.held = threading.Event()
        self.holder = ""
        self._review = review
        self._about = about

    def __call__(self, asked: Asked) -> Reply:
        reply: Reply = self._review(asked)
        if self._about(asked) == self.victim and not self.held.is_set():
            self.holder = asked.headers.get("x-api-key") or asked.headers.get("Authorization", "")
            self.held.set()
            return say("never heard", delay=300)
        return reply


@pytest.mark.client("claude-code")
def test_two_workers_are_killed(room: Any, make_cluster: Any, reviewing: Any, about: Any, waiting: Any) -> None:
    client = {"use": "claude-code", "model": "scripted-model", "timeout": 600}
    room.write_settings(real=client, asker={"use": "single-shot", "model": "scripted-model"})
    cluster = make_cluster("w1", "w2", "w3")
    one = room.start("--reviewer=real", "--crab-store=one", "--crab-report=one-report", "--crab-jobs=4")
    output, _ = one.communicate()
    assert one.returncode == pytest.ExitCode.TESTS_FAILED, output
    alone = Counter(about(asked) for asked in room.provider.asked)
    room.provider.asked.clear()
    room.provider.script = deadly = Deadly("pots-2", reviewing, about)
    cluster.until(there=3)
    given = ("--reviewer=real", "--crab-store=many", f"--crab-cluster={cluster.address}")
    many = room.start(*given, "--crab-report=many-report")
    waiting(deadly.held.is_set, "no model was asked")
    (first,) = [name for name in cluster.workers if cluster.key(name) in deadly.holder]
    second = next(name for name in cluster.workers if name != first)
    for name in (first, second):
        cluster.kill(name)
    output, _ = many.communicate(timeout=240)
    assert many.returncode == pytest.ExitCode.TESTS_FAILED, output
    assert re.search(r"(?ms)^crab: lost .*^crab: 2 workers were lost, \d trials? \w+ given again$", output), output

    assert room.summary("many-report") == room.summary("one-report")
    trials = room.trials("many-report")
    assert [trial["instance"] for trial in trials] == sorted(trial["instance"] for trial in trials)
    made_by = {trial["instance"]: trial["versions"]["worker"] for trial in trials}
    assert set(made_by.values()) <= set(cluster.workers)

    ledger = room.ledger("many")
    lost = {(entry["trial"].split("::")[0], entry["worker"]) for entry in ledger if entry.get("lost")}
    assert ("pots-2", first) in lost
    assert {worker for _, worker in lost} <= {first, second}
    assert all(made_by[name] not in (first, second) for name, _ in lost)  # what they had finished stays theirs
    asked = Counter(about(each) for each in room.provider.asked)
    for name in INSTANCES:  # no finished step is paid for again
        assert alone[name] <= asked[name] <= alone[name] * (2 if name in dict(lost) else 1)
    known = sum(entry.get("cost_usd", 0.0) for entry in ledger)
    assert known >= sum(trial["review"]["usage"]["cost_usd"] for trial in trials) - 1e-9

    before = len(cluster.tapped)
    keeps_its_budget(room, cluster, reviewing)
    sent = cluster.tapped[before:]
    resumes_on_another(room, cluster, given)

    assert Leaks("def value():").within(cluster.tapped)  # what is sent is seen
    for name in INSTANCES:
        assert sent.count(f"title: {name}\n".encode()) == 1  # files, from worker to worker where another needs them
    for name in (*cluster.workers, "controller-55aa"):
        secret = cluster.key(name) if name in cluster.workers else room.environment["ANTHROPIC_API_KEY"]
        assert not Leaks(secret).within(cluster.tapped), name


def keeps_its_budget(room: Any, cluster: Any, reviewing: Any) -> None:
    """Three requests of eight are paid for, since a fourth might cost more than what is left."""
    room.provider.asked.clear()
    room.provider.script = lambda asked: dataclasses.replace(reviewing(asked), usage={"input": 100, "output": 8192})
    cost = (100 * 3 + 8192 * 15) / 1_000_000
    given = ("--reviewer=asker", "--crab-repeat=2", "--crab-store=few", "--crab-report=few-report")
    room.run(*given, f"--crab-cluster={cluster.address}", f"--crab-budget={3.5 * cost}", status=1)
    assert len(room.provider.asked) == 3
    assert sum(entry["cost_usd"] for entry in room.ledger("few")) == pytest.approx(3 * cost)
    refused = [trial["error"] for trial in room.trials("few-report") if trial.get("error")]
    assert len(refused) == 5
    assert all("the budget of the run is spent" in error for error in refused)


def resumes_on_another(room: Any, cluster: Any, given: tuple[str, ...]) -> None:
    """The same run again, with a worker that has made nothing: pytest answers from its store, or the new one does."""
    for name in [name for name, process in cluster.workers.items() if process.poll() is None]:
        cluster.kill(name)
    cluster.work("new")
    cluster.until(there=4)
    room.provider.asked.clear()
    room.run(*given, "--crab-report=again-report", status=1)
    assert not room.provider.asked
    assert room.summary("again-report") == room.summary("many-report")
    for trial in room.trials("again-report"):
        assert trial["versions"].get("worker", "new") == "new"
        steps = [step for step in trial["steps"] if step["step"] != "fetch"]
        assert steps
        assert all(step["reused"] for step in steps), steps
        assert FileStore(room.folder / "many").get("transcript", trial["review"]["transcript"])
