from __future__ import annotations

import random
from statistics import NormalDist

import pytest

from pytest_crab.statistics.sequential import look_chances, parts_in_random_order, share_spent


def test_one_look_has_the_whole_chance() -> None:
    assert look_chances(0.025, 1) == pytest.approx((0.025,), rel=1e-6)


def test_the_first_look_has_what_is_spent_by_then() -> None:
    for looks in (2, 5):
        assert look_chances(0.025, looks)[0] == pytest.approx(0.025 / looks**2, rel=1e-3)
        assert share_spent(looks, looks) == 1


def test_any_of_five_looks_errs_as_often_as_one_would() -> None:
    bounds = [NormalDist().inv_cdf(1 - chance) for chance in look_chances(0.025, 5)]
    source, errors = random.Random(3), 0
    for _ in range(20_000):
        total = 0.0
        for look, bound in enumerate(bounds, 1):
            total += source.gauss(0, 1)
            if total > bound * look**0.5:
                errors += 1
                break
    assert errors / 20_000 == pytest.approx(0.025, abs=0.0045)


def test_later_looks_have_more_and_the_last_nearly_all() -> None:
    chances = look_chances(0.025, 5)
    assert list(chances) == sorted(chances)
    assert 0.015 < chances[-1] < 0.025 < sum(chances)


def test_parts_are_equally_large_and_their_order_is_the_seeds() -> None:
    sizes = {f"repo-{at}": 1 + at % 3 for at in range(30)}
    parts = parts_in_random_order(sizes, 5, "a")
    assert parts == parts_in_random_order(dict(reversed(sizes.items())), 5, "a") != parts_in_random_order(sizes, 5, "b")
    assert list(parts.values()) == sorted(parts.values())
    totals = [sum(sizes[name] for name, part in parts.items() if part == number) for number in range(1, 6)]
    assert sum(totals) == 60
    assert max(totals) - min(totals) <= 4


def test_a_large_repository_leaves_a_part_empty() -> None:
    assert set(parts_in_random_order({"large": 90, "small": 10}, 5, "a").values()) <= {3, 5, 1}
