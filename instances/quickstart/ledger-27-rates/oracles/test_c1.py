import datetime
import itertools
from decimal import Decimal

import pytest

from ledger.rates import parse_rates

LINES = ["2024-01-02 USD 0.91 EUR", "2024-02-01 USD 0.89 EUR", "2024-03-28 USD 0.93 EUR", "2023-12-01 USD 0.90 EUR", "2024-03-01 CHF 1.05 EUR"]


def usd(rates, day):
    return rates.convert(Decimal(100), "USD", "EUR", datetime.date.fromisoformat(day))


@pytest.mark.parametrize("lines", [*itertools.permutations(LINES[:3]), LINES, LINES[::-1]])
def test_the_order_of_the_lines_means_nothing(lines):
    rates = parse_rates(lines)
    days = {"2024-01-02": 91, "2024-01-31": 91, "2024-02-01": 89, "2024-03-27": 89, "2024-03-28": 93, "2025-01-01": 93}
    assert {day: usd(rates, day) for day in days} == days


def test_added_after_the_first_question():
    rates = parse_rates(["2024-03-01 USD 0.93 EUR"])
    assert usd(rates, "2024-03-05") == 93
    rates.add(datetime.date(2024, 1, 1), "USD", Decimal("0.5"), "EUR")
    assert (usd(rates, "2024-03-05"), usd(rates, "2024-02-05")) == (93, 50)
    rates.add(datetime.date(2024, 2, 1), "USD", Decimal("0.7"), "EUR")
    rates.add(datetime.date(2023, 2, 1), "USD", Decimal("0.2"), "EUR")
    assert [usd(rates, day) for day in ("2024-03-05", "2024-02-05", "2024-01-05", "2023-05-05")] == [93, 70, 50, 20]
