import sqlite3
from datetime import date
from decimal import Decimal

import pytest

from ledger import Posting, Transaction
from ledger.index import Index


@pytest.fixture
def index():
    def paid(account, amount):
        postings = (Posting(account, Decimal(amount), "EUR"), Posting("Assets:Checking", -Decimal(amount), "EUR"))
        return Transaction(date(2024, 3, 1), "Somebody", postings)

    index = Index()
    index.add([paid("Income:O'Hara", "5"), paid("Expenses:Food", "7"), paid('Expenses:"Misc"', "9")])
    yield index
    index.close()


def amounts(index, account):
    try:
        return [row.amount for row in index.postings(account)]
    except (sqlite3.Error, sqlite3.Warning) as error:
        pytest.fail(f"the database choked on {account!r}: {error}")


@pytest.mark.parametrize(("account", "amount"), [("Income:O'Hara", 5), ("Expenses:Food", 7), ('Expenses:"Misc"', 9)])
def test_any_name_finds_its_postings(index, account, amount):
    assert amounts(index, account) == [amount]


@pytest.mark.parametrize(
    "account",
    ["Expenses:%", "Expenses:Foo_", "expenses:food", "*", "x' OR '1'='1", "x' OR 1=1 --", "' UNION SELECT date, account, amount, commodity FROM postings --", 'x" OR "1"="1'],
)
def test_no_name_is_read_as_sql(index, account):
    assert amounts(index, account) == []
