"""Which tests see a fault, by what they said at head and on the reference; and when an environment is searched."""

from __future__ import annotations

from datetime import date

from pytest_crab.injection.deciding import may_search, seeing


def test_a_case_named_by_the_time_of_day_sees_nothing_and_a_file_that_is_not_collected_does() -> None:
    head = {"a::test_x[1]": False, "a::test_x[2]": True, "a::test_at[12:00]": True}
    passed = ["a::test_x[1]", "a::test_x[2]", "a::test_at[12:01]", "b::test_y"]
    assert seeing(passed, head) == {"a::test_x[1]", "b::test_y"}


def test_one_search_in_vain_is_not_the_last_of_its_time() -> None:
    day, near, far = date(2025, 6, 1), date(2025, 5, 1), date(2024, 6, 1)
    assert may_search(day, [far], [near, near, far])
    assert not may_search(day, [], [near] * 3)
    assert not may_search(day, [near], [])
