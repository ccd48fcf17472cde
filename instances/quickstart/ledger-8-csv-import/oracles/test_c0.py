import contextlib

from ledger.importer import import_statement

STATEMENT = ["date,payee,amount", "2024-05-01,Roastery,-12.50", "2024-05-04,Employer,2000.00"]
LATER = [*STATEMENT, "2024-05-05,Market,-7.50"]


def payees(lines, account, **options):
    return [transaction.payee for transaction in import_statement(lines, account, **options)]


def test_calls_without_seen_share_nothing():
    assert payees(STATEMENT, "Assets:Checking") == ["Roastery", "Employer"]
    assert payees(STATEMENT, "Assets:Savings") == ["Roastery", "Employer"]
    assert payees(STATEMENT, "Assets:Savings") == ["Roastery", "Employer"]


def test_a_given_set_is_used_and_filled():
    seen = set()
    assert payees(STATEMENT, "Assets:Checking", seen=seen) == ["Roastery", "Employer"]
    assert payees(LATER, "Assets:Checking", seen=seen) == ["Market"]


def test_nothing_is_left_of_a_call_that_failed():
    with contextlib.suppress(Exception):
        payees([*STATEMENT, "2024-05-05,Market,a lot"], "Assets:Checking")
    assert payees(STATEMENT, "Assets:Checking") == ["Roastery", "Employer"]
