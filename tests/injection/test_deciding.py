"""Which tests see a fault, by what they said at head and on the reference; and when an environment is searched."""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path

from pytest_crab.injection.deciding import Deciding, failed_alike, may_search, seeing
from pytest_crab.injection.proposals import HEAD, REFERENCE, WITNESSES
from pytest_crab.injection.repository import open_repository
from pytest_crab.types import CommitSource, Environment, PullCandidate, PullRequestFacts


def test_a_case_named_by_the_time_of_day_sees_nothing_and_a_file_that_is_not_collected_does() -> None:
    head = {"a::test_x[1]": False, "a::test_x[2]": True, "a::test_at[12:00]": True}
    passed = ["a::test_x[1]", "a::test_x[2]", "a::test_at[12:01]", "b::test_y"]
    assert seeing(passed, head) == {"a::test_x[1]", "b::test_y"}


def test_two_failures_are_alike_where_the_same_exception_is_told() -> None:
    head = {"a": ("failed", "KeyError"), "b": ("failed", None), "c": ("failed", "KeyError"), "d": ("passed", None)}
    before = {**head, "c": ("failed", "TypeError")}
    assert failed_alike(head, before) == {"a"}


def test_one_search_in_vain_is_not_the_last_of_its_time() -> None:
    day, near, far = date(2025, 6, 1), date(2025, 5, 1), date(2024, 6, 1)
    assert may_search(day, [far], [near, near, far])
    assert not may_search(day, [], [near] * 3)
    assert not may_search(day, [near], [])


def test_a_test_that_asks_for_words_which_only_the_reference_has_decides_nothing(shop_history: Path) -> None:
    with open_repository(shop_history) as repository:
        base, commit = (repository.tree("HEAD"), repository.line[0].commit)
        text = "def order(cart):\n    return cart\n"
        head = repository.with_files(base, {"order.py": text})
        told = text.replace(
            "    return", "    if not cart:\n        raise ValueError('the cart has nothing')\n    return"
        )
        mended = repository.with_files(base, {"order.py": told})
        tests = (
            "def test_words():\n    with raises(ValueError, match='has nothing in'):\n        pass\n\n\n"
            "def test_match():\n    with raises(ValueError, match='the cart has nothing'):\n        order([])\n\n\n"
            "def test_kind():\n    with raises(ValueError):\n        order([])\n"
        )
        candidate = PullCandidate(
            id="a", origin="injected", repo="owner/shop", pull_request=PullRequestFacts(number=1, title="a"),
            commit=CommitSource(url="https://git.example/o/s", sha=commit, head=HEAD, reference=REFERENCE),
            files={
                HEAD: repository.diff(base, head), REFERENCE: repository.diff(head, mended),
                f"{WITNESSES}tests/test_order.py": tests,
            },
        )  # fmt: skip
        red = frozenset(f"tests.test_order::test_{name}" for name in ("words", "match", "kind"))
        left = Deciding(repository=repository)._unpinned(candidate, red)
        assert left == red - {"tests.test_order::test_match"}


def test_an_interrupted_run_goes_on_with_the_environments_that_it_found(shop_history: Path) -> None:
    one = PullCandidate(
        id="a", origin="injected", repo="owner/shop",
        pull_request=PullRequestFacts(number=1, title="a", merged_at="2025-06-01"),
        environment=Environment(dockerfile="python", python="3.11"),
    )  # fmt: skip
    other = dataclasses.replace(one, environment=Environment(dockerfile="python", python="3.12"))
    with open_repository(shop_history) as repository:
        deciding = Deciding(repository=repository)
        deciding.remember([one, one, other, dataclasses.replace(one, environment=None)])
        assert [known.environment.python for known in deciding._known] == ["3.11", "3.12"]
        assert {known.day for known in deciding._known} == {date(2025, 6, 1)}
