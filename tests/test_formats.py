from __future__ import annotations

import pytest

from pytest_crab.formats import (
    format_decimal,
    format_dollars,
    format_duration,
    format_first,
    format_names,
    format_number,
    format_percent,
    format_points,
    format_table,
    format_whole_percent,
)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.00"), (0.0008, "0.0008"), (0.0000123, "0.000012"), (0.05, "0.05"), (0.5, "0.50"), (12.345, "12.35")],
)
def test_two_digits_are_there_however_small_an_amount_is(amount: float, text: str) -> None:
    assert format_dollars(amount) == text


def test_more_decimals_may_be_wanted() -> None:
    assert (format_dollars(0.5, 3), format_dollars(0.00012, 3), format_dollars(0, 4)) == ("0.500", "0.00012", "0.0000")


def test_shares_means_and_counts_have_one_decimal_and_nothing_is_a_dash() -> None:
    assert (format_percent(0.26449), format_points(-0.031), format_points(0.004)) == ("26.4", "-3.1", "+0.4")
    assert (format_decimal(2, 1), format_number(2.0), format_number(2.5)) == ("2.0", "2", "2.5")
    assert (format_decimal(0.726), format_decimal(0.5, 3), format_whole_percent(0.304)) == ("0.73", "0.500", "30%")
    assert {format_percent(None), format_points(None), format_decimal(None), format_number(None)} == {"-"}


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (9000, "2.5 h")])
def test_a_length_of_time_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_of_several_sentences_the_first_is_shown() -> None:
    assert format_first(["one"]) == "one"
    assert format_first(["one", "two", "three"]) == "one (and 2 more)"


def test_names_beyond_the_limit_are_a_number() -> None:
    assert format_names(["a", "b"], 2) == "a, b"
    assert format_names(["a", "b", "c"], 2) == "a, b and 1 more"


def test_the_columns_of_a_table_are_as_wide_as_their_widest_cell() -> None:
    rows = [("name", "count"), ("a", "7")]
    assert list(format_table(rows)) == ["name  count", "a         7"]
    assert list(format_table(rows, right=False)) == ["name  count", "a     7"]


def test_a_cell_cannot_steer_a_terminal_or_break_a_table() -> None:
    rows = [("a\x1b[2J\nb", "\xe9"), ("c", "x" * 13)]
    assert list(format_table(rows, widest=12)) == [r"a\x1b[2J b          \xe9", "c           xxxxxxxxx..."]
