from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given, strategies as st

from pytest_crab.statistics.matching import largest_matching

CANDIDATES = st.dictionaries(
    st.integers(0, 6), st.lists(st.sampled_from("abcdef"), unique=True, max_size=4), max_size=6
)


def most_pairs(candidates: Mapping[int, Sequence[str]]) -> int:
    """Try every choice for every key."""
    if not candidates:
        return 0
    (_, own), *rest = candidates.items()
    left = [{one: [value for value in others if value != taken] for one, others in rest} for taken in own]
    return max([most_pairs(dict(rest)), *(1 + most_pairs(others) for others in left)])


@given(CANDIDATES)
def test_there_are_as_many_pairs_as_there_can_be(candidates: dict[int, list[str]]) -> None:
    found = largest_matching(candidates)
    assert all(value in candidates[key] for key, value in found.items())
    assert len(set(found.values())) == len(found) == most_pairs(candidates)
    assert list(found) == [key for key in candidates if key in found]


def test_a_key_gives_way_where_another_has_no_choice() -> None:
    assert largest_matching({"one": ["x", "y"], "two": ["x"]}) == {"one": "y", "two": "x"}
    assert largest_matching({"one": ["x"], "two": ["x"], "three": ["y", "x"]}) == {"one": "x", "three": "y"}
