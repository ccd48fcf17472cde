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
    """Add what no two transactions share, in one call."""
    transactions = []
    for number, amount in enumerate(map(Decimal, amounts), start=1):
        postings = (Posting("Expenses:Food", amount, "EUR"), Posting("Assets:Checking", -amount, "EUR"))
        transactions.append(Transaction(date(2024, 3, number), f"Market {number}", postings))
    index.add(transactions)


@pytest.mark.parametrize(
    "amounts",
    [("0.10", "0.20"), ("0.1",) * 10, ("12345678901234567.89", "0.01"), ("0.000123456789012345678", "1"), ("0.1", "-0.3"), ("2", "3"), ("0.1", "-0.1")],
    ids=["thirty-cents", "ten-times", "many-digits", "many-places", "below-zero", "whole", "nothing"],
)
def test_totals_are_exact(index, amounts):
    add(index, *amounts)
    total = index.total("Expenses:Food", "EUR")
    assert isinstance(total, Decimal)
    assert total == sum(map(Decimal, amounts))


def test_each_account_and_commodity_has_its_own(tmp_path):
    with Index(tmp_path / "index") as index:
        for account, amount, commodity in [("Expenses:Food", "0.10", "EUR"), ("Expenses:Food", "0.20", "USD"), ("Expenses:Rent", "0.20", "EUR")]:
            postings = (Posting(account, Decimal(amount), commodity), Posting("Assets:Checking", -Decimal(amount), commodity))
            index.add([Transaction(date(2024, 3, 1), "Market", postings)])
    with Index(tmp_path / "index") as index:
        add(index, "0.20")
        totals = [index.total(*pair) for pair in [("Expenses:Food", "EUR"), ("Expenses:Food", "USD"), ("Expenses:Rent", "EUR"), ("Expenses", "EUR"), ("Assets:Checking", "EUR")]]
        assert totals == [Decimal("0.30"), Decimal("0.20"), Decimal("0.20"), 0, Decimal("-0.50")]
        assert all(isinstance(total, Decimal) for total in totals)
        assert [row.amount for row in index.postings("Assets:Checking")] == [Decimal("-0.10"), Decimal("-0.20"), Decimal("-0.20"), Decimal("-0.20")]


@pytest.mark.parametrize("amount", ["0.10", "12345678901234567.89", "-0.000123456789012345678", "1234567890123456789012.3456"])
def test_postings_are_exact(index, amount):
    add(index, amount)
    assert [row.amount for row in index.postings("Expenses:Food")] == [Decimal(amount)]
    assert [row.amount for row in index.postings("Assets:Checking")] == [-Decimal(amount)]
