import json
import os
import subprocess

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


JOURNAL = """\
2024-04-09 Market
    Expenses:Food          7.50 EUR
    Assets:Checking       -7.50 EUR
2024-05-02 Roastery
    Expenses:Food         12.50 EUR
    Assets:Checking      -12.50 EUR
"""


def register(*options, account="Expenses", journal=JOURNAL):
    return ["register", account, "-", *options], journal


def test_a_period_that_ends_before_it_starts_is_an_error():
    backwards = [("2024-05-01", "2024-04-01"), ("2024-05-02", "2024-05-01"), ("2024-01-01", "2023-12-31"), ("2030-01-01", "2020-01-01")]
    different = ({}, {}, {"account": "Income"}, {"journal": ""})
    asked = [register("--since", since, "--until", until, **options) for (since, until), options in zip(backwards, different, strict=True)]
    for code, _, errors in ledger(*asked):
        assert code == 2
        assert "error: " in errors
        assert "Traceback" not in errors


def test_other_periods_are_not():
    cases = [
        (("--since", "2024-05-01"), ["Roastery"]),
        (("--since", "2024-04-01", "--until", "2024-05-01"), ["Market"]),
        (("--since", "2024-05-01", "--until", "2024-05-01"), []),
        (("--since", "2024-04-09", "--until", "2024-04-10"), ["Market"]),
        (("--until", "2000-01-01"), []),
        (("--since", "2999-01-01"), []),
        ((), ["Market", "Roastery"]),
    ]
    for (_, payees), (code, printed, errors) in zip(cases, ledger(*[register(*options) for options, _ in cases]), strict=True):
        assert code == 0
        assert "error" not in errors
        assert [payee for payee in ("Market", "Roastery") if payee in printed] == payees
