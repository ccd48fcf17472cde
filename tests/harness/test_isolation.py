"""Oracles that run as another user and reach the project through commands only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending

if TYPE_CHECKING:
    from conftest import Bench

PREFIX = """
import os, signal, subprocess, sys, time
import pytest
PYTHON = os.environ["CRAB_PYTHON"]
"""
CLI = """
import sys
import ledger
if sys.argv[1:] == ["add"]:
    print(sum(int(line) for line in sys.stdin))
    sys.stderr.write("done")
    sys.exit(3)
"""


def outcomes(bench: Bench, source: str, **files: str) -> list[tuple[str, str | None]]:
    run = bench.run(PREFIX + source, isolated=True, **files)
    assert (run.ending, run.tripwire, run.altered) == (Ending.COMPLETED, True, ())
    return [(test.outcome, test.exception) for test in run.tests]


def test_streams_and_exit_code_come_through(bench: Bench) -> None:
    source = (
        "def test_it():\n"
        "    done = subprocess.Popen([PYTHON, '-m', 'cli', 'add'], stdin=-1, stdout=-1, stderr=-1)\n"
        "    out, err = done.communicate(b'1\\n2\\n')\n"
        "    assert (out, err, done.returncode) == (b'3\\n', b'done', 3)\n"
    )
    assert outcomes(bench, source, cli=CLI) == [("passed", None)]


def test_python_is_the_projects(bench: Bench) -> None:
    source = "def test_it():\n    assert subprocess.check_output([sys.executable, '-m', 'show']) == b'3\\n'\n"
    assert outcomes(bench, source, show="import ledger\nprint(ledger.add(1, 2))\n") == [("passed", None)]


def test_the_project_cannot_be_imported(bench: Bench) -> None:
    source = "def test_it():\n    import ledger\n"
    assert outcomes(bench, source) == [("failed", "ModuleNotFoundError")]


def test_only_the_oracles_own_variables_come_through(bench: Bench) -> None:
    source = (
        "def test_it():\n"
        "    env = dict(os.environ, MINE='1', PYTHONWARNINGS='error', HOME='/nowhere')\n"
        "    out = subprocess.check_output([PYTHON, '-m', 'show'], env=env).decode().split()\n"
        "    assert out == ['1', 'error', 'True', 'None']\n"
    )
    show = (
        "import os\nprint(os.environ.get('MINE'), os.environ.get('PYTHONWARNINGS'), os.environ['HOME'] != '/nowhere',"
        " os.environ.get('PYTEST_CURRENT_TEST'))\n"
    )
    assert outcomes(bench, source, show=show) == [("passed", None)]


def test_commands_run_beside_each_other_and_take_signals(bench: Bench) -> None:
    source = (
        "def test_it():\n"
        "    server = subprocess.Popen([PYTHON, '-m', 'server'], stdout=-1)\n"
        "    assert server.stdout.readline() == b'ready\\n'\n"
        "    assert subprocess.call([PYTHON, '-m', 'ledger']) == 0\n"
        "    server.terminate()\n"
        "    assert server.wait() == 5 and server.stdout.read() == b'bye\\n'\n"
        "    assert subprocess.call([PYTHON, '-c', 'import os; os.kill(os.getpid(), 9)']) == -9\n"
    )
    server = (
        "import signal, sys, time\n"
        "def leave(*_):\n    print('bye', flush=True)\n    sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, leave)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    assert outcomes(bench, source, server=server) == [("passed", None)]


def test_a_command_that_is_left_alone_ends_with_its_caller(bench: Bench) -> None:
    source = (
        "def test_it():\n"
        "    with pytest.raises(subprocess.TimeoutExpired):\n"
        "        subprocess.check_output([PYTHON, '-c', 'import time; time.sleep(100)'], timeout=0.5)\n"
    )
    assert outcomes(bench, source) == [("passed", None)]


def test_every_run_has_the_tree_in_its_own_state(bench: Bench) -> None:
    source = (
        PREFIX + 'def test_it():\n    code = \'import ledger; open("left", "x"); print(ledger.add(1, 1))\'\n'
        "    assert subprocess.check_output([PYTHON, '-c', code]) == b'2\\n'\n"
    )
    worse = (FileChange(path="ledger.py", mode="100644", content=b"def add(a, b):\n    return 0\n"),)
    runs = [bench.oracle(source, state=state, isolated=True, name=name) for name, state in
            (("a", "head"), ("b", "worse"), ("c", "head"))]  # fmt: skip
    report = bench.report(runs, worse=worse)
    assert [run.tests[0].outcome for run in report.runs] == ["passed", "failed", "passed"]


@pytest.mark.parametrize(
    ("body", "ending"),
    [("time.sleep(600)", Ending.TIMEOUT), ("subprocess.call([PYTHON, '-c', 'while True: print(7)'])", Ending.OUTPUT)],
)
def test_endings_are_the_same_as_without_isolation(bench: Bench, body: str, ending: Ending) -> None:
    run = bench.run(
        f"{PREFIX}def test_it():\n    {body}\n", isolated=True, seconds=3 if ending is Ending.TIMEOUT else 60
    )
    assert run.ending is ending


def test_a_project_that_ends_its_server_is_lost(bench: Bench) -> None:
    source = PREFIX + "def test_it():\n    subprocess.call([PYTHON, '-m', 'mean'])\n"
    bench.write("mean.py", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n")
    report = bench.report([bench.oracle(source, isolated=True, name=name) for name in ("a", "b")])
    assert [run.ending for run in report.runs] == [Ending.LOST, Ending.UNSTARTED]


#: Connects to the project's end from a process that is left, and sends it bytes, so that it always has some to read.
DRIPPING = """
import os, socket, sys, time
if os.fork() == 0:
    os.setsid()
    guests = [socket.socket(socket.AF_UNIX) for _ in range(16)]
    for one in guests:
        one.connect(sys.argv[1])
    while True:
        for one in guests:
            one.sendall(b" ")
        time.sleep(0.0002)
"""


def test_a_guest_that_never_stops_talking_takes_no_later_oracle_with_it(bench: Bench) -> None:
    place = str(bench.folder / "meet" / "crab.sock")
    source = PREFIX + f"def test_it():\n    assert subprocess.call([PYTHON, '-m', 'drip', {place!r}]) == 0\n"
    bench.write("drip.py", DRIPPING)
    report = bench.report([bench.oracle(source, isolated=True, name=name) for name in ("a", "b", "c", "d")])
    assert [run.ending for run in report.runs] == [Ending.COMPLETED] * 4
