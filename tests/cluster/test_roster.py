"""Who takes which trial: no slot idle while anything waits, and an instance with as few workers as that allows."""

from __future__ import annotations

import heapq
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.roster import Roster


def roster(*slots: int) -> Roster:
    made = Roster()
    for number, each in enumerate(slots):
        made.admit(Member(address=f"tcp://{number}", name=f"w{number}", slots=each, incarnation="one"))
    return made


def wait(made: Roster, *instances: str) -> None:
    """Have a trial wait for each of these instances, whose repository is the first letter."""
    for number, instance in enumerate(instances):
        made.wait(str(number), number, instance, instance[0])


def run(made: Roster, instances: list[str]) -> dict[str, set[str]]:
    """Give out one trial for each of these, ending the oldest where nothing is free; who had which instance."""
    wait(made, *instances)
    left, running = len(instances), []
    while left or running:
        picked = made.pick()
        if picked is None:
            assert all(member.free == 0 for member in made.members.values()) or not left
            made.done(*running.pop(0))
            continue
        key, member = picked
        assert member.free >= 0
        running.append((key, member.address))
        left -= 1
    assert not any(member.running for member in made.members.values())
    return {member.name: member.instances for member in made.members.values()}


def played(workers: int, slots: int, *, instances: int, trials: int, window: int) -> tuple[float, float]:
    """How many workers an instance had, and the share of the lanes' time that was used, with trials that differ."""
    made, chance = roster(*[slots] * workers), random.Random(1)
    order = [f"{number % 26:02}/{number:04}" for number in range(instances)]
    plan = [(f"{place}", name) for place, name in enumerate(name for name in sorted(order) for _ in range(trials))]
    events: list[tuple[float, str, str]] = []
    ended: set[str] = set()
    submitted = reported = 0
    now = busy = 0.0
    while submitted < len(plan) or events:
        for key, name in plan[submitted : reported + window]:
            made.wait(key, int(key), name, name[:2])
        submitted = max(submitted, min(len(plan), reported + window))
        while (picked := made.pick()) is not None:
            key, member = picked
            seconds = chance.choice((0.4, 0.7, 1.0, 1.9))
            busy += seconds
            heapq.heappush(events, (now + seconds, key, member.address))
        now, key, address = heapq.heappop(events)
        made.done(key, address)
        ended.add(key)
        while str(reported) in ended:
            reported += 1
    pairs = sum(len(member.instances) for member in made.members.values())
    return pairs / instances, busy / (now * workers * slots)


@pytest.mark.parametrize(("workers", "most"), [(4, 1.1), (16, 1.2), (64, 1.6)])
def test_an_instance_stays_with_few_workers(workers: int, most: float) -> None:
    per_instance, used = played(workers, 4, instances=160, trials=15, window=64 * 4 * workers)
    assert per_instance <= most
    assert used >= (0.8 if workers == 64 else 0.95)


def test_an_instance_stays_where_it_is_while_there_are_others() -> None:
    found = run(roster(1, 1, 1), ["a1", "b1", "c1"] * 20)
    assert sorted(map(sorted, found.values())) == [["a1"], ["b1"], ["c1"]]


def test_a_worker_that_would_be_idle_takes_what_others_have() -> None:
    found = run(roster(1, 1), ["a1"] * 10)
    assert found == {"w0": {"a1"}, "w1": {"a1"}}


def test_what_is_shared_is_that_with_most_trials_for_each_worker() -> None:
    made = roster(1, 1)
    wait(made, "a1", "b1", "b1", "b1", "a1")
    assert {made.pick() is None for _ in range(2)} == {False}
    made.admit(Member(address="tcp://2", name="w2", slots=1, incarnation="one"))
    key, member = made.pick() or ("", None)
    assert (key, member and member.name) == ("2", "w2")


def test_one_that_has_the_instance_takes_a_later_trial_first() -> None:
    made = roster(1)
    wait(made, "a1", "b1", "a1")
    first, member = made.pick() or ("", None)
    assert member is not None
    made.done(first, member.address)
    assert (made.pick() or "")[0] == "2"


def test_one_that_knows_the_repository_takes_a_later_instance_first() -> None:
    made = roster(1, 1)
    wait(made, "a1", "b1", "c1", "b2")
    assert [(made.pick() or "")[0] for _ in range(2)] == ["0", "1"]
    (member,) = [member for member in made.members.values() if "b" in member.repositories]
    made.done("1", member.address)
    assert made.pick() == ("3", member)


def test_what_waits_again_comes_before_what_is_later() -> None:
    made = roster(1)
    wait(made, "a1", "a2", "a3")
    first, _ = made.pick() or ("", None)
    made.done(first, "tcp://0")
    made.drop("tcp://0")
    made.wait(first, int(first), "a1", "a")
    made.admit(Member(address="tcp://1", name="w1", slots=1, incarnation="one"))
    assert (made.pick() or "")[0] == first


def test_who_is_gone_or_another_by_now_is_dropped() -> None:
    made = roster(1, 1, 1)
    lost = made.gone({"tcp://0": "one", "tcp://1": "two"})
    assert [member.name for member in lost] == ["w1", "w2"]
    assert list(made.members) == ["tcp://0"]


def test_a_trial_that_is_wanted_no_more_is_not_given() -> None:
    made = roster(1)
    wait(made, "a1")
    made.done("0", "")
    assert made.pick() is None


@given(
    slots=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    names=st.lists(st.sampled_from(["a1", "a2", "a3", "b1", "b2", "c1"]), max_size=40),
    lost=st.integers(0, 40),
)
def test_all_is_run_whatever_comes_and_goes(slots: list[int], names: list[str], lost: int) -> None:
    made = roster(*slots, 1)
    run(made, names[:lost])
    made.drop("tcp://0")
    run(made, names[lost:])
    assert made.pick() is None
