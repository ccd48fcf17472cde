from datetime import date
from decimal import Decimal

import pytest

from ledger import Posting, Transaction
from ledger.index import Index


@pytest.fixture
def index():
    index = Index()
    yield index
    index.close()


def add(index, *amounts):
    for amount in map(Decimal, amounts):
        postings = (Posting("Expenses:Food", amount, "EUR"), Posting("Assets:Checking", -amount, "EUR"))
        index.add([Transaction(date(2024, 3, 1), "Market", postings)])


@pytest.mark.parametrize(
    "amounts",
    [("0.10", "0.20"), ("0.1",) * 10, ("12345678901234567.89", "0.01"), ("0.000123456789012345678", "1")],
    ids=["thirty-cents", "ten-times", "many-digits", "many-places"],
)
def test_totals_are_exact(index, amounts):
    add(index, *amounts)
    total = index.total("Expenses:Food", "EUR")
    assert isinstance(total, Decimal)
    assert total == sum(map(Decimal, amounts))


@pytest.mark.parametrize("amount", ["0.10", "12345678901234567.89", "-0.000123456789012345678"])
def test_postings_are_exact(index, amount):
    add(index, amount)
    assert [row.amount for row in index.postings("Expenses:Food")] == [Decimal(amount)]
    assert [row.amount for row in index.postings("Assets:Checking")] == [-Decimal(amount)]
