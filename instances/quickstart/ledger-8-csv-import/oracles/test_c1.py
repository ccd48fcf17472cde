import os
import subprocess

import pytest

HEADER = "date,payee,amount\n"
GOOD = "2024-03-01,Roastery,-12.50\n"


def ledger(statement):
    command = [os.environ["CRAB_PYTHON"], "-m", "ledger", "import", "--account", "Assets:Checking", "-"]
    return subprocess.run(command, input=statement, capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize(
    "row",
    ['2024-03-04,Employer,"1.234,56"', "04.03.2024,Employer,2000.00", "2024-03-04"],
    ids=["amount", "date", "cut-short"],
)
def test_a_bad_row_is_one_error_line(row):
    done = ledger(HEADER + GOOD + row + "\n" + GOOD)
    assert done.returncode == 2
    assert done.stderr.startswith("error: line 3: ")
    assert len(done.stderr.splitlines()) == 1


def test_so_is_a_missing_column():
    done = ledger((HEADER + GOOD).replace("amount", "value"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_good_statement_is_imported():
    done = ledger(HEADER + GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2024-03-01 Roastery" in done.stdout
