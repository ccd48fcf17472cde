import sqlite3
from datetime import date
from decimal import Decimal

import pytest

from ledger import Posting, Transaction
from ledger.index import Index


ODD = ["Income:O''Hara", "Income:'O'Hara''", "a\\'b", "a\\", "a;b", "a?b", "a:b", "%s", "{account}", "a--b", "Caf\u00e9's", "'", "''"]


@pytest.fixture
def index():
    def paid(account, amount, day=1, payee="Somebody"):
        postings = (Posting(account, Decimal(amount), "EUR"), Posting("Assets:Checking", -Decimal(amount), "EUR"))
        return Transaction(date(2024, 3, day), payee, postings)

    index = Index()
    index.add([paid("Income:O'Hara", "5"), paid("Expenses:Food", "7"), paid('Expenses:"Misc"', "9")])
    index.add([paid(name, amount) for amount, name in enumerate(ODD, start=11)])
    index.add([paid("Income:D'Arcy", "3", 9, "It's late"), paid("Income:D'Arcy", "1", 2), paid("Income:D'Arcy", "2", 2)])
    yield index
    index.close()


def amounts(index, account):
    try:
        return [row.amount for row in index.postings(account)]
    except (sqlite3.Error, sqlite3.Warning) as error:
        pytest.fail(f"the database choked on {account!r}: {error}")


@pytest.mark.parametrize(("account", "amount"), [("Income:O'Hara", 5), ("Expenses:Food", 7), ('Expenses:"Misc"', 9), *zip(ODD, range(11, 99))])
def test_any_name_finds_its_postings(index, account, amount):
    assert amounts(index, account) == [amount]


@pytest.mark.parametrize(
    "account",
    ["Expenses:%", "Expenses:Foo_", "expenses:food", "*", "x' OR '1'='1", "x' OR 1=1 --", "' UNION SELECT date, account, amount, commodity FROM postings --", 'x" OR "1"="1'],
)
def test_no_name_is_read_as_sql(index, account):
    assert amounts(index, account) == []


def test_rows_are_whole_and_the_oldest_comes_first(index):
    rows = [(date(2024, 3, 2), "Somebody", 1, "EUR"), (date(2024, 3, 2), "Somebody", 2, "EUR"), (date(2024, 3, 9), "It's late", 3, "EUR")]
    assert [(row.date, row.payee, row.amount, row.commodity) for row in index.postings("Income:D'Arcy")] == rows
