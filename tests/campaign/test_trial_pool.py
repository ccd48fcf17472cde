"""Many trials at once: what starts, what is waited for, what ends."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_crab.campaign.progress import Progress
from pytest_crab.campaign.trial_pool import TrialPool, costs_of_run
from pytest_crab.testing.trials import trial_of
from pytest_crab.types import Provenance, Review, Trial, Usage
from pytest_crab.types.reviews import ScorerUsage

SECONDS = 20


def trial(name: str, cost: float | None = None) -> Trial:
    review = None if cost is None else Review(usage=Usage(cost_usd=cost))
    return trial_of(
        instance=name,
        repo="o/n",
        provenance=Provenance.AUTHORED,
        reviewer="r",
        agent="a",
        runtime="t",
        results=(),
        review=review,
    )


class Gate:
    """Work that waits until it is let go, or until the world is stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.runs = 0

    def __call__(self, notice: Callable[[str], None]) -> Trial:
        self.runs += 1
        notice("review")
        self.begun.set()
        assert self.go.wait(SECONDS)
        return trial("held", 0.25)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def pool(gate: Gate) -> Iterator[TrialPool[Trial]]:
    made = TrialPool(ThreadPoolExecutor(1), gate.go.set, costs_of_run)
    yield made
    made.stop()


def quiet(_: Progress) -> None:
    """Hear nothing."""


def test_a_key_is_run_once_and_asked_for_often(pool: TrialPool[Trial], gate: Gate) -> None:
    gate.go.set()
    for _ in range(3):
        pool.submit("a", gate)
    assert pool.result("a", quiet) is pool.result("a", quiet)
    assert gate.runs == 1


def test_a_trial_that_an_interrupt_left_without_a_name_is_ended_too(gate: Gate) -> None:
    """Ctrl-C may come when the executor has the trial and the pool has not."""

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **more: Any) -> Any:
            super().submit(*arguments, **more)
            raise KeyboardInterrupt

    pool = TrialPool(Interrupted(1), gate.go.set, costs_of_run)
    with pytest.raises(KeyboardInterrupt):
        pool.submit("a", gate)
    pool.stop()
    assert gate.go.is_set()


def test_what_was_never_submitted_has_no_result(pool: TrialPool[Trial]) -> None:
    assert pool.result("nothing", quiet) is None


def test_whoever_waits_hears_what_is_going_on(pool: TrialPool[Trial], gate: Gate) -> None:
    pool.submit("done", lambda notice: trial("done", 0.5))
    pool.submit("held", gate)
    heard: list[Progress] = []

    def tick(progress: Progress) -> None:
        heard.append(progress)
        if progress.running and progress.running[0].step == "review":
            gate.go.set()

    assert pool.result("held", tick, interval=0.01) == trial("held", 0.25)
    (held,) = heard[-1].running
    assert (held.trial, held.step, heard[-1].done, heard[-1].cost_usd) == ("held", "review", 1, 0.5)
    assert held.seconds >= 0
    ended = pool.progress()
    assert (ended.running, ended.done, ended.cost_usd) == ((), 2, 0.75)


def test_no_price_is_not_no_cost(pool: TrialPool[Trial]) -> None:
    pool.submit("a", lambda notice: trial("a"))
    pool.result("a", quiet)
    assert (pool.progress().done, pool.progress().cost_usd) == (1, None)


def test_money_counts_what_scorers_asked_in_this_run(pool: TrialPool[Trial]) -> None:
    scoring = {
        "choices": ScorerUsage(answers=2, usage=Usage(cost_usd=0.75), paid_usd=0.25),
        "strict": ScorerUsage(answers=4, usage=Usage(cost_usd=8.0), paid_usd=0.5, judge=True),
        "free": ScorerUsage(answers=4, judge=True),
    }
    judged = dataclasses.replace(trial("judged", 1.0), scoring=scoring)
    pool.submit("judged", lambda notice: judged)
    assert pool.result("judged", quiet) == judged
    assert pool.progress().cost_usd == 1.75


def test_stopping_ends_what_runs_and_starts_nothing_more(pool: TrialPool[Trial], gate: Gate) -> None:
    pool.submit("held", gate)
    pool.submit("queued", gate)
    assert gate.begun.wait(SECONDS)
    pool.stop()
    pool.submit("late", gate)
    assert pool.result("held", quiet) == trial("held", 0.25)
    assert pool.result("queued", quiet) is None
    assert pool.result("late", quiet) is None
    assert gate.runs == 1


def test_what_the_work_raises_reaches_who_waits_and_hides_no_other(pool: TrialPool[Trial]) -> None:
    def fail(notice: Callable[[str], None]) -> Trial:
        raise LookupError("lost")

    pool.submit("a", fail)
    pool.submit("b", lambda notice: trial("b"))
    with pytest.raises(LookupError, match="lost"):
        pool.result("a", quiet)
    assert pool.result("b", quiet) == trial("b")
    assert pool.progress().done == 1
    assert pool.progress().running == ()


def test_a_time_out_of_the_work_itself_is_no_reason_to_wait_on(pool: TrialPool[Trial]) -> None:
    def fail(notice: Callable[[str], None]) -> Trial:
        raise TimeoutError("its own")

    pool.submit("a", fail)
    with pytest.raises(TimeoutError, match="its own"):
        pool.result("a", quiet, interval=0.01)
