import datetime
from decimal import Decimal

import pytest

from ledger import ParseError, Posting, parse_journal

JOURNAL = """\
; two transactions
2024-03-01 Roastery
    Expenses:Food         12.50 EUR
    Assets:Checking      -12.50 EUR

2024-03-04 Employer & Sons
    Assets:Checking    2000 EUR
    Income:Salary     -2000 EUR
"""


def test_parse():
    first, second = parse_journal(JOURNAL.splitlines())
    assert first.date == datetime.date(2024, 3, 1)
    assert first.postings[0] == Posting("Expenses:Food", Decimal("12.50"), "EUR")
    assert second.payee == "Employer & Sons"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("    Assets:Cash  1 EUR\n", 1),
        ("2024-02-30 Nobody\n", 1),
        ("2024-03-01 Shop\n    Assets:Cash 1\n", 2),
        ("\n2024-03-01 Shop\n    Assets:Cash  1 EUR\n    Expenses:Misc  2 EUR\n", 2),
        ("2024-03-01 Shop\n    Assets:Cash  0 EUR\n", 1),
    ],
)
def test_bad_journals(text, line):
    with pytest.raises(ParseError) as caught:
        parse_journal(text.splitlines())
    assert caught.value.line == line


def test_sub_accounts():
    posting = Posting("Expenses:Food:Coffee", Decimal(1), "EUR")
    assert posting.belongs_to("Expenses:Food")
    assert not posting.belongs_to("Expenses:Foo")
