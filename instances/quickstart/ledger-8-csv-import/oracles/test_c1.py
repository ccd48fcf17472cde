import json
import os
import subprocess

import pytest

SCRIPT = """
import json
import os
import runpy
import sys
import tempfile
import ledger.cli


def run(arguments, text):
    (source, sink), out, err = os.pipe(), tempfile.TemporaryFile(), tempfile.TemporaryFile()
    os.write(sink, text.encode())
    os.close(sink)
    child = os.fork()
    if not child:
        for number, end in enumerate((source, out.fileno(), err.fileno())):
            os.dup2(end, number)
        sys.argv[1:] = arguments
        runpy.run_module("ledger", run_name="__main__", alter_sys=True)
        sys.exit()
    os.close(source)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for file in (out, err):
        file.seek(0)
    return code, out.read().decode(), err.read().decode()


print(json.dumps([run(*each) for each in json.loads(sys.argv[1])]))
"""


def ledger(*asked):
    """What each of some commands says, (arguments, input); each is a process, forked where the program is imported already."""
    command = [os.environ["CRAB_PYTHON"], "-c", SCRIPT, json.dumps(asked)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


HEADER = "date,payee,amount\n"
GOOD = "2024-03-01,Roastery,-12.50\n"
ROWS = {
    "amount": '2024-03-04,Employer,"1.234,56"',
    "no-amount": "2024-03-04,Employer,",
    "date": "04.03.2024,Employer,2000.00",
    "no-such-day": "2024-02-30,Employer,1",
    "cut-short": "2024-03-04",
    "cut-shorter": "2024-03-04,Employer",
}
BEFORE = dict(zip(ROWS, [1, 0, 1, 2, 1, 0], strict=True))
AFTER_EMPTY = ["amount", "date", "cut-short"]
COLUMNS = ["date", "payee", "amount"]


@pytest.fixture(scope="module")
def said():
    statements = {
        ("row", name): HEADER + "".join(f"2024-03-0{day},Roastery,-12.50\n" for day in range(1, BEFORE[name] + 1)) + row + "\n" + "2024-03-09,Market,-1\n"
        for name, row in ROWS.items()
    }
    statements.update({("empty", name): HEADER + GOOD + "\n\n" + ROWS[name] + "\n" for name in AFTER_EMPTY})
    statements.update({("column", name): HEADER.replace(name, "other") + GOOD for name in COLUMNS})
    statements["good"] = HEADER + GOOD
    command = ["import", "--account", "Assets:Checking", "-"]
    return dict(zip(statements, ledger(*[(command, statement) for statement in statements.values()]), strict=True))


@pytest.mark.parametrize("row", ROWS)
def test_a_bad_row_is_one_error_line(said, row):
    code, _, errors = said["row", row]
    assert code == 2
    assert errors.startswith(f"error: line {BEFORE[row] + 2}: ")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("row", AFTER_EMPTY)
def test_empty_lines_are_lines_too(said, row):
    code, _, errors = said["empty", row]
    assert code == 2
    assert errors.startswith("error: line 5: ")


@pytest.mark.parametrize("column", COLUMNS)
def test_so_is_a_missing_column(said, column):
    code, _, errors = said["column", column]
    assert code == 2
    assert errors.startswith("error: ")
    assert len(errors.splitlines()) == 1


def test_a_good_statement_is_imported(said):
    code, printed, errors = said["good"]
    assert (code, errors) == (0, "")
    assert "2024-03-01 Roastery" in printed
