import os
import subprocess

JOURNAL = """\
2024-04-09 Market
    Expenses:Food          7.50 EUR
    Assets:Checking       -7.50 EUR
2024-05-02 Roastery
    Expenses:Food         12.50 EUR
    Assets:Checking      -12.50 EUR
"""


def register(*options, account="Expenses", journal=JOURNAL):
    command = [os.environ["CRAB_PYTHON"], "-m", "ledger", "register", account, "-", *options]
    return subprocess.run(command, input=journal, capture_output=True, text=True, timeout=20)


def test_a_period_that_ends_before_it_starts_is_an_error():
    backwards = [("2024-05-01", "2024-04-01"), ("2024-05-02", "2024-05-01"), ("2024-01-01", "2023-12-31"), ("2030-01-01", "2020-01-01")]
    for (since, until), options in zip(backwards, ({}, {}, {"account": "Income"}, {"journal": ""}), strict=True):
        done = register("--since", since, "--until", until, **options)
        assert done.returncode == 2
        assert "error: " in done.stderr
        assert "Traceback" not in done.stderr


def test_other_periods_are_not():
    for options, payees in [
        (("--since", "2024-05-01"), ["Roastery"]),
        (("--since", "2024-04-01", "--until", "2024-05-01"), ["Market"]),
        (("--since", "2024-05-01", "--until", "2024-05-01"), []),
        (("--since", "2024-04-09", "--until", "2024-04-10"), ["Market"]),
        (("--until", "2000-01-01"), []),
        (("--since", "2999-01-01"), []),
        ((), ["Market", "Roastery"]),
    ]:
        done = register(*options)
        assert done.returncode == 0
        assert "error" not in done.stderr
        assert [payee for payee in ("Market", "Roastery") if payee in done.stdout] == payees
