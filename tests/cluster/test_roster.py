"""Who takes which trial: no slot idle while anything waits, and an image had as rarely as that allows."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.roster import Roster
from pytest_crab.campaign.cluster.roster import spread


def roster(*slots: int) -> Roster:
    made = Roster()
    for number, each in enumerate(slots):
        member = Member(address=f"tcp://{number}", name=f"w{number}", slots=each, incarnation="one")
        made.members[member.address] = member
    return made


def run(made: Roster, repositories: list[str]) -> dict[str, set[str]]:
    """Give out one trial for each of these, ending the oldest where nothing is free; who had which repository."""
    waiting = {str(number): repository for number, repository in enumerate(repositories)}
    running: list[str] = []
    while waiting or running:
        picked = made.pick(list(waiting.items()))
        if picked is None:
            assert all(member.free == 0 for member in made.members.values()) or not waiting
            made.done(running.pop(0))
            continue
        key, member = picked
        assert member.free > 0
        made.give(key, waiting.pop(key), member)
        running.append(key)
    return {member.name: member.repositories for member in made.members.values()}


def test_each_worker_has_a_repository_of_its_own() -> None:
    made = roster(1, 1, 1)
    run(made, ["red", "green", "blue"] * 20)
    assert spread(made.members.values()) == 3


def test_a_worker_that_would_be_idle_takes_what_others_know() -> None:
    found = run(roster(1, 1), ["red"] * 10)
    assert found == {"w0": {"red"}, "w1": {"red"}}


def test_one_that_knows_the_repository_takes_a_later_trial_first() -> None:
    made = roster(1, 1)
    made.members["tcp://1"].repositories.add("blue")
    key, member = made.pick([("a", "red"), ("b", "blue")]) or ("", None)
    assert (key, member and member.name) == ("b", "w1")


def test_who_is_gone_or_another_by_now_is_dropped() -> None:
    made = roster(1, 1, 1)
    lost = made.gone({"tcp://0": "one", "tcp://1": "two"})
    assert [member.name for member in lost] == ["w1", "w2"]
    assert list(made.members) == ["tcp://0"]


@given(
    slots=st.lists(st.integers(1, 3), min_size=1, max_size=4), names=st.lists(st.sampled_from("abcdef"), max_size=40)
)
def test_all_is_run_and_images_are_had_as_rarely_as_workers_allow(slots: list[int], names: list[str]) -> None:
    made = roster(*slots)
    run(made, names)
    few = Counter(names)
    assert spread(made.members.values()) <= sum(min(count, len(slots)) for count in few.values())
