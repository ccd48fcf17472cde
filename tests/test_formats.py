from __future__ import annotations

import pytest

from pytest_crab.formats import format_dollars


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.00"), (0.0008, "0.0008"), (0.0000123, "0.000012"), (0.05, "0.05"), (0.5, "0.50"), (12.345, "12.35")],
)
def test_two_digits_are_there_however_small_an_amount_is(amount: float, text: str) -> None:
    assert format_dollars(amount) == text


def test_more_decimals_may_be_wanted() -> None:
    assert (format_dollars(0.5, 3), format_dollars(0.00012, 3), format_dollars(0, 4)) == ("0.500", "0.00012", "0.0000")
