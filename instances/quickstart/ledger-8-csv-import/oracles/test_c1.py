import os
import subprocess

import pytest

HEADER = "date,payee,amount\n"
GOOD = "2024-03-01,Roastery,-12.50\n"


def ledger(statement):
    command = [os.environ["CRAB_PYTHON"], "-m", "ledger", "import", "--account", "Assets:Checking", "-"]
    return subprocess.run(command, input=statement, capture_output=True, text=True, timeout=20)


ROWS = ['2024-03-04,Employer,"1.234,56"', "2024-03-04,Employer,", "04.03.2024,Employer,2000.00", "2024-02-30,Employer,1", "2024-03-04", "2024-03-04,Employer"]


@pytest.mark.parametrize(("row", "before"), zip(ROWS, [1, 0, 1, 2, 1, 0]), ids=["amount", "no-amount", "date", "no-such-day", "cut-short", "cut-shorter"])
def test_a_bad_row_is_one_error_line(row, before):
    done = ledger(HEADER + "".join(f"2024-03-0{day},Roastery,-12.50\n" for day in range(1, before + 1)) + row + "\n" + "2024-03-09,Market,-1\n")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: line {before + 2}: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("row", [ROWS[0], ROWS[2], ROWS[4]], ids=["amount", "date", "cut-short"])
def test_empty_lines_are_lines_too(row):
    done = ledger(HEADER + GOOD + "\n\n" + row + "\n")
    assert done.returncode == 2
    assert done.stderr.startswith("error: line 5: ")


@pytest.mark.parametrize("column", ["date", "payee", "amount"])
def test_so_is_a_missing_column(column):
    done = ledger(HEADER.replace(column, "other") + GOOD)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_good_statement_is_imported():
    done = ledger(HEADER + GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2024-03-01 Roastery" in done.stdout
