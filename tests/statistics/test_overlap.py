from __future__ import annotations

from hypothesis import given, strategies as st

from pytest_crab.statistics import overlap

CAUGHT = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.frozensets(st.integers(0, 9)), min_size=1)


@given(CAUGHT)
def test_no_more_are_unique_than_any_has(caught: dict[str, frozenset[int]]) -> None:
    assert sum(overlap.unique(caught).values()) <= len(frozenset().union(*caught.values()))


def test_unique_is_what_no_other_has() -> None:
    assert overlap.unique({"a": {1, 2, 3}, "b": {2}, "c": {3, 4}}) == {"a": 1, "b": 0, "c": 1}


def test_each_choice_is_counted_by_those_who_share_it_and_no_other() -> None:
    caught = {"a": {1, 2, 3}, "b": {2, 9}, "c": {3}}
    every = overlap.overlaps([1, 2, 3, 4, 5], caught, every=True)
    assert list(every) == [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    assert {who: count for who, count in every.items() if count} == {(): 2, ("a",): 1, ("a", "b"): 1, ("a", "c"): 1}
    assert list(overlap.overlaps([3, 4, 4], caught, every=False).items()) == [(("a", "c"), 1), ((), 2)]
