"""Workers are killed, one inside a model call of a real client: the numbers of one process, and nothing made again."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from pytest_crab.store import FileStore
from pytest_crab.testing.leaks import Leaks
from pytest_crab.testing.provider import Asked
from pytest_crab.testing.provider import Reply
from pytest_crab.testing.provider import say

pytestmark = pytest.mark.bubblewrap

INSTANCES = ("pans-2", "pans-3", "pots-1", "pots-2")

#: Of one scripted answer: 100 tokens read at 3, 20 written at 15 US dollars per million.
COST = 0.0006


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
    client = {"use": "claude-code", "model": "scripted-model", "timeout": 60}
    room.write_settings(real=client, asker={"use": "single-shot", "model": "scripted-model"})
    cluster = make_cluster("w1", "w2", "w3", "w4")
    one = room.start("--reviewer=real", "--crab-store=one", "--crab-report=one-report", "--crab-jobs=4")
    output, _ = one.communicate()
    assert one.returncode == pytest.ExitCode.TESTS_FAILED, output
    alone = len(room.provider.asked)
    room.provider.asked.clear()
    room.provider.script = deadly = Deadly("pots-2", reviewing, about)
    cluster.until(there=4)
    given = ("--reviewer=real", "--crab-store=many", f"--crab-cluster={cluster.address}")
    many = room.start(*given, "--crab-report=many-report")
    waiting(deadly.held.is_set, "no model was asked")
    (first,) = [name for name in cluster.workers if cluster.key(name) in deadly.holder]
    second = next(name for name in cluster.workers if name != first)
    for name in (first, second):
        cluster.kill(name)
    output, _ = many.communicate(timeout=120)
    assert many.returncode == pytest.ExitCode.TESTS_FAILED, output
    assert re.search(r"(?ms)^crab: lost .*^crab: 2 workers were lost, \d trials? \w+ given again$", output), output

    assert room.summary("many-report") == room.summary("one-report")
    trials = room.trials("many-report")
    assert [trial["instance"] for trial in trials] == sorted(trial["instance"] for trial in trials)
    assert {trial["versions"]["worker"] for trial in trials} <= set(cluster.workers) - {first, second} | {second}

    ledger = room.ledger("many")
    assert len(ledger) == len(room.provider.asked) > alone  # every request is booked, those of the dead too
    assert [entry["status"] for entry in ledger].count(0) >= 1
    assert {entry["worker"] for entry in ledger if entry.get("lost")} <= {first, second}
    known = sum(entry.get("cost_usd", 0.0) for entry in ledger)
    assert known == pytest.approx(COST * sum(entry["complete"] for entry in ledger))
    spent = sum(trial["review"]["usage"]["cost_usd"] for trial in trials)
    wasted = COST * sum(entry["complete"] and entry["worker"] in (first, second) for entry in ledger)
    assert spent <= known <= spent + wasted + 1e-9

    room.provider.asked.clear()
    before = len(cluster.tapped)
    budget = 4 * COST
    room.run(
        *("--reviewer=asker", "--crab-repeat=2", "--crab-store=few", "--crab-report=few-report"),
        *(f"--crab-cluster={cluster.address}", f"--crab-budget={budget}"),
        status=1,
    )
    paid = COST * len(room.provider.asked)
    assert budget <= paid + 1e-9
    assert paid <= budget + 2 * COST + 1e-9  # two workers are left
    assert sum(entry["cost_usd"] for entry in room.ledger("few")) == pytest.approx(paid)
    refused = [trial["error"] for trial in room.trials("few-report") if trial.get("error")]
    assert len(refused) == 8 - len(room.provider.asked)
    assert all("the budget of the run is spent" in error for error in refused)

    sent = cluster.tapped[before:]
    resumes_on_another(room, cluster, given)

    assert Leaks("def value():").within(cluster.tapped)  # what is sent is seen
    for name in INSTANCES:
        takers = {trial["versions"]["worker"] for trial in room.trials("few-report") if trial["instance"] == name}
        assert sent.count(f"title: {name}\n".encode()) == len(takers)  # files, once for each worker
    for name in (*cluster.workers, "controller-55aa"):
        secret = cluster.key(name) if name in cluster.workers else room.environment["ANTHROPIC_API_KEY"]
        assert not Leaks(secret).within(cluster.tapped), name


def resumes_on_another(room: Any, cluster: Any, given: tuple[str, ...]) -> None:
    """The same run again, on a worker that has made nothing: every step comes from where pytest runs."""
    for name in [name for name, process in cluster.workers.items() if process.poll() is None]:
        cluster.kill(name)
    cluster.work("new")
    cluster.until(there=5)
    room.provider.asked.clear()
    room.run(*given, "--crab-report=again-report", status=1)
    assert not room.provider.asked
    assert room.summary("again-report") == room.summary("many-report")
    for trial in room.trials("again-report"):
        assert trial["versions"]["worker"] == "new"
        steps = [step for step in trial["steps"] if step["step"] != "fetch"]
        assert steps
        assert all(step["reused"] for step in steps), steps
        assert FileStore(room.folder / "many").get("transcript", trial["review"]["transcript"])
    planned = room.run(*given, "--crab-plan", status=0)
    assert "real: would run at least 0 proofs, 0 reviews, 0 revisions, 0 verdicts" in planned
