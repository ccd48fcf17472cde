from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics import overlap, repeats

CAUGHT = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.frozensets(st.integers(0, 9)), min_size=1)


@given(CAUGHT)
def test_union_is_what_the_first_has_and_what_each_adds(caught: dict[str, frozenset[int]]) -> None:
    so_far: set[int] = set()
    for own in caught.values():
        before = len(so_far)
        added = overlap.count_added(so_far, own)
        so_far |= own
        assert len(so_far) == before + added
    assert overlap.union(caught) == so_far
    assert sum(overlap.unique(caught).values()) <= len(so_far)


def test_unique_is_what_no_other_has() -> None:
    assert overlap.unique({"a": {1, 2, 3}, "b": {2}, "c": {3, 4}}) == {"a": 1, "b": 0, "c": 1}


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.data())
def test_pass_at_k_is_the_share_of_choices_with_a_catch(runs: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(runs)))
    choices = [any(choice) for choice in itertools.combinations(runs, k)]
    assert repeats.pass_at(k, sum(runs), len(runs)) == pytest.approx(sum(choices) / len(choices))


def test_flips() -> None:
    assert repeats.flips(1, 2) == 1
    assert repeats.flips(2, 4) == pytest.approx(2 / 3)
    assert repeats.flips(1, 1) is None
    with pytest.raises(ValueError, match="k lies between"):
        repeats.pass_at(3, 1, 2)
