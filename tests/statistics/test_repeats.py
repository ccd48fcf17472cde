from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics import repeats


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_pass_at_k_is_the_share_of_choices_with_a_catch(runs: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(runs)))
    choices = [any(choice) for choice in itertools.combinations(runs, k)]
    assert repeats.pass_at(k, sum(runs), len(runs)) == pytest.approx(sum(choices) / len(choices))


def test_flips() -> None:
    assert repeats.flips(1, 2) == 1
    assert repeats.flips(2, 4) == pytest.approx(2 / 3)
    assert repeats.flips(0, 3) == 0
    assert repeats.flips(1, 1) is None


@pytest.mark.parametrize(("k", "caught", "runs"), [(3, 1, 2), (0, 1, 2), (1, 3, 2), (1, -1, 2)])
def test_impossible_numbers_are_refused(k: int, caught: int, runs: int) -> None:
    with pytest.raises(ValueError, match="k lies between"):
        repeats.pass_at(k, caught, runs)
