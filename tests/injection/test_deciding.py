"""Which tests see a fault, by what they said at head and on the reference."""

from __future__ import annotations

from pytest_crab.injection.deciding import seeing


def test_a_case_named_by_the_time_of_day_sees_nothing_and_a_file_that_is_not_collected_does() -> None:
    head = {"a::test_x[1]": False, "a::test_x[2]": True, "a::test_at[12:00]": True}
    passed = ["a::test_x[1]", "a::test_x[2]", "a::test_at[12:01]", "b::test_y"]
    assert seeing(passed, head) == {"a::test_x[1]", "b::test_y"}
