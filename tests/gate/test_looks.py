"""When a look is due, what it says of the repositories that it rests on, and what is left out after a decision."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab.gate.looks import GateLooks, seed_of
from pytest_crab.gate.results import GateResult

#: Ten repositories of one oracle each: five looks come after two more each.
REPOSITORIES = {f"owner/repo-{number}": 1 for number in range(10)}


def divided(looks: int = 5) -> GateLooks:
    found = GateLooks(looks=looks, seed="a1b2c3d4")
    found.divide(REPOSITORIES)
    return found


def test_a_look_is_due_after_its_part_and_those_before() -> None:
    looks = divided()
    assert sorted(looks.parts.values()) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for look in (1, 2, 3):
        looks.look = look
        assert {repo for repo in REPOSITORIES if looks.is_due(repo)} == {
            repo for repo, part in looks.parts.items() if part in range(1, look + 1)
        }


def test_the_first_look_comes_after_the_first_part_that_has_anything() -> None:
    looks = GateLooks(looks=4, seed="a1b2c3d4")
    looks.divide({"owner/large": 100})
    assert looks.look == looks.parts["owner/large"] == 3  # the middle of the only repository lies in the third quarter
    two = GateLooks(looks=5, seed="a")
    two.divide({"owner/large": 90, "owner/small": 10})
    assert (sorted(two.parts.values()), two.look) == ([3, 5], 3)
    nothing = GateLooks(looks=4, seed="a1b2c3d4")
    assert nothing.look == 1
    nothing.divide({})
    assert nothing.look == 1


def test_the_record_counts_repositories_and_the_chance_that_is_spent() -> None:
    looks = divided()
    looks.look = 2
    record = looks.record
    assert (record.look, record.looks, record.seed) == (2, 5, "a1b2c3d4")
    assert (record.repositories, record.left_out) == (4, 6)
    assert record.spent == pytest.approx(0.16)  # two fifths of the repositories, squared
    for fact in ("Look 2 of 5", "after 4 of 10 repositories", "seed a1b2c3d4", "16% of the chance"):
        assert fact in looks.account


def test_a_run_that_nothing_decided_ends_at_the_last_look() -> None:
    looks = divided()
    assert looks.needless is None
    looks.end()
    assert (looks.look, looks.record.left_out, looks.record.spent) == (5, 0, 1.0)
    assert looks.needless is None


def test_a_decision_stays_at_its_look_and_says_why_the_rest_is_not_run() -> None:
    looks = divided()
    looks.look, looks.decided = 2, GateResult.FAILED
    looks.end()
    assert looks.look == 2
    assert looks.needless is not None
    assert "failed at look 2 of 5" in looks.needless


def summary(reviewer: str = "mine", verdicts: str = "cmc") -> Any:
    """The parts of a reviewer's summary that decide the order of looks: an oracle a letter."""
    oracles = [SimpleNamespace(key=(f"pr-{at}", "c0"), verdicts={one: 1}) for at, one in enumerate(verdicts)]
    return SimpleNamespace(reviewer=reviewer, oracles=oracles)


def test_the_seed_is_eight_digits_that_only_another_baseline_changes() -> None:
    seed = seed_of([summary()])
    assert re.fullmatch("[0-9a-f]{8}", seed)
    assert seed == seed_of([summary()])
    others = [seed_of([summary("other")]), seed_of([summary(verdicts="cmm")]), seed_of([summary(), summary("other")])]
    assert len({seed, *others}) == 4
