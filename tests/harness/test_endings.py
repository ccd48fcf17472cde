"""How runs end that do not come to their own end, and what is left of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab import harness
from pytest_crab.types import Ending
from tests.harness.conftest import run_beside

if TYPE_CHECKING:
    from conftest import Bench


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("os._exit(0)", Ending.EXITED),
        ("os._exit(1)", Ending.EXITED),
        ("os.kill(os.getpid(), 11)", Ending.CRASHED),
        ("os.kill(os.getpid(), 9)", Ending.MEMORY),
        ("while True: pass", Ending.TIMEOUT),
        ("os.read(os.pipe()[0], 1)", Ending.TIMEOUT),
        ("while True: os.write(1, b'x' * 65536)", Ending.OUTPUT),
        ("raise MemoryError", Ending.MEMORY),
        ("raise BlockingIOError(11, 'no more')", Ending.PROCESSES),
        ('raise RuntimeError("can\'t start new thread")', Ending.PROCESSES),
    ],
)
def test_each_ending_has_its_name(bench: Bench, body: str, ending: Ending) -> None:
    run = bench.run(f"import os\ndef test_it():\n    {body}\n", seconds=2 if ending is Ending.TIMEOUT else 60)
    assert run.ending is ending


def test_a_memory_error_that_is_handled_is_none(bench: Bench) -> None:
    source = "import pytest\ndef test_it():\n    with pytest.raises(MemoryError):\n        raise MemoryError\n"
    assert bench.run(source).ending is Ending.COMPLETED


def test_a_forked_parent_that_leaves_is_exited(bench: Bench) -> None:
    run = bench.run("import os\nif os.fork():\n    os._exit(9)\ndef test_it():\n    pass\n")
    assert (run.ending, run.tests) == (Ending.EXITED, ())


def test_a_report_that_somebody_else_writes_is_not_well_formed(bench: Bench) -> None:
    source = (
        "import os\nfor end in range(3, 100):\n    try:\n        os.write(end, b'{\"exit_code\": 1}')\n"
        "    except OSError:\n        pass\nos._exit(1)\n"
    )
    run = bench.run(source)
    assert (run.ending, run.detail) == (Ending.EXITED, "the report is not well-formed")


def test_a_session_that_is_ended_has_no_tripwire(bench: Bench) -> None:
    run = bench.run("import pytest\ndef test_it():\n    pytest.exit('enough')\n")
    assert (run.ending, run.exit_code, run.tripwire) == (Ending.COMPLETED, 2, None)


def test_what_runs_at_exit_comes_too_late(bench: Bench) -> None:
    source = "import atexit, os\natexit.register(os._exit, 0)\ndef test_it():\n    assert False\n"
    run = bench.run(source)
    assert (run.ending, run.exit_code, [test.outcome for test in run.tests]) == (Ending.COMPLETED, 1, ["failed"])


def test_a_thread_that_never_ends_does_not_hold_the_run_up(bench: Bench) -> None:
    source = "import threading, time\ndef test_it():\n    threading.Thread(target=time.sleep, args=[3600]).start()\n"
    assert bench.run(source).ending is Ending.COMPLETED


def test_no_process_outlives_its_run(bench: Bench) -> None:
    place = bench.folder / "pids"
    source = (
        "import os, subprocess\n"
        "def test_it():\n"
        f"    with open({str(place)!r}, 'w') as file:\n"
        "        for new in (False, True):\n"
        "            child = subprocess.Popen(['sleep', '1000'], start_new_session=new)\n"
        "            file.write('%d ' % child.pid)\n"
        "        if os.fork() == 0:\n"
        "            os.setsid()\n"
        "            if os.fork() == 0:\n"
        "                file.write('%d ' % os.getpid())\n"
        "                file.flush()\n"
        "                import time\n"
        "                time.sleep(1000)\n"
        "            os._exit(0)\n"
        "        os.wait()\n"
        "        import time\n"
        "        time.sleep(0.3)\n"
    )
    assert bench.run(source).ending is Ending.COMPLETED
    pids = [int(word) for word in place.read_text().split()]
    assert len(set(pids)) >= 3
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_the_supervisor_cannot_be_opened_or_written_to(bench: Bench) -> None:
    source = (
        "import os\n"
        "def test_it():\n"
        "    up = os.getppid()\n"
        "    assert os.readlink('/proc/self/fd/0') == '/dev/null'\n"
        "    assert os.getuid() == 0 or not os.access('/proc/%d/mem' % up, os.R_OK)\n"
        "    ends = {os.readlink('/proc/self/fd/' + name) for name in ('1', '2')}\n"
        "    assert len(ends) == 1 and os.getsid(0) == os.getpid()\n"
    )
    assert [test.outcome for test in bench.run(source).tests] == ["passed"]


def test_runs_do_not_see_each_other(bench: Bench) -> None:
    first = "import os, ledger\ndef test_it():\n    open('left', 'w').close()\n    os.remove('ledger.py')\n    os.mkdir('d', 0)\n"  # noqa: E501 - code in a text
    second = "import os, ledger\ndef test_it():\n    assert sorted(os.listdir('.')) == ['ledger.py']\n"
    runs = bench.report([bench.oracle(first, name="a"), bench.oracle(second, name="b")]).runs
    assert [test.outcome for run in runs for test in run.tests] == ["passed", "passed"]
    assert os.listdir(bench.folder / "scratch") == []


@pytest.mark.parametrize(
    ("code", "ending"), [("raise SystemExit(3)", Ending.COMPLETED), ("while 1: 1", Ending.TIMEOUT)]
)
def test_a_command_is_told_by_its_exit_code(bench: Bench, code: str, ending: Ending) -> None:
    argv = ("python3", "-c", f"import ledger\nprint(1)\n{code}")
    seconds = 2 if ending is Ending.TIMEOUT else 60
    command = harness.CommandRun(id="p2p", state="head", seconds=seconds, command=argv)
    run = bench.report([command]).runs[0]
    assert (run.ending, run.exit_code, run.tests) == (ending, 3 if ending is Ending.COMPLETED else None, ())


def test_an_environment_without_pytest_starts_nothing(bench: Bench) -> None:
    bench.site = ()
    report = bench.report([bench.oracle("def test_it():\n    pass\n")])
    assert report.runs[0].ending is Ending.UNSTARTED
    assert "pytest cannot be imported" in report.problems[0]


def test_a_deadline_is_kept_by_the_harness_itself(bench: Bench) -> None:
    started = time.monotonic()
    assert bench.run("import time\ntime.sleep(600)\n", seconds=1).ending is Ending.TIMEOUT
    assert time.monotonic() - started < 300


def test_a_plugin_that_is_not_there_starts_nothing(bench: Bench) -> None:
    run = bench.report([bench.oracle("def test_it():\n    pass\n", plugins=("no_such_plugin",))]).runs[0]
    assert run.ending is Ending.UNSTARTED
    assert "no_such_plugin" in (run.detail or "")


#: Writes into the output of whatever is above it that lets it, as root may.
WRITE_UP = """
import os
def above(pid):
    while pid > 1:
        yield pid
        with open("/proc/%d/stat" % pid) as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
def write(most):
    for pid in list(above(os.getppid()))[:most]:
        for door in (1, 64):
            try:
                end = os.open("/proc/%d/fd/%d" % (pid, door), os.O_WRONLY | os.O_NONBLOCK)
                os.write(end, b'{"run": {"id": "c0"}}' + bytes([10]))
                os.close(end)
            except OSError:
                continue
"""


def test_who_gets_at_the_report_all_the_same_makes_nothing_green(bench: Bench) -> None:
    bench.write("up.py", WRITE_UP)
    report = bench.report([bench.oracle("import up\ndef test_it():\n    up.write(2)\n")])
    (run,) = report.runs
    if os.geteuid() == 0:  # who may look into any process reaches the harness's first one, and its lines are not of it
        assert (run.ending, run.tests) == (Ending.TAMPERED, ())
    else:
        assert [test.outcome for test in run.tests] == ["passed"]


def test_the_end_of_what_a_run_prints_is_told_where_that_is_asked_for(bench: Bench) -> None:
    code = "import sys; print('x' * 100_000, flush=True); sys.exit('no such place')"
    runs = [
        harness.CommandRun(id=name, state="head", seconds=60, command=("python", "-c", code), printed=name == "a")
        for name in ("b", "a")
    ]
    report = bench.report(runs)
    assert [run.exit_code for run in report.runs] == [1, 1]
    assert list(report.printed) == ["a"]
    assert report.printed["a"].endswith("xx\nno such place\n")
    assert len(report.printed["a"]) < 100_000


#: What another process looks into stays a dead process until that leaves it alone, however often it is ended.
HOLD = """\
import ctypes, pathlib, sys, time
place = pathlib.Path(sys.argv[1])
while not place.exists() or not place.read_text():
    time.sleep(0.01)
held = ctypes.CDLL(None, use_errno=True).ptrace(0x4206, int(place.read_text()), None, None)  # to seize
assert held == 0, ctypes.get_errno()
place.with_name("held").touch()
time.sleep(600)
"""


@pytest.mark.parametrize("isolated", [False, True])
def test_no_run_begins_beside_a_process_that_cannot_be_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, isolated: bool
) -> None:
    parts = vars(harness)["_PARTS"]
    monkeypatch.setitem(parts, "supervisor", parts["supervisor"].replace("ENDED_WITHIN = 10", "ENDED_WITHIN = 1"))
    pid, held, begun = bench.folder / "pid", bench.folder / "held", bench.folder / "begun"
    child = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    source = (
        "import os, subprocess, time\ndef test_it():\n"
        f"    subprocess.Popen([os.environ.get('CRAB_PYTHON', {sys.executable!r}), '-c', {child!r}])\n"
        f"    while not os.path.exists({str(held)!r}):\n        time.sleep(0.01)\n"
    )
    with subprocess.Popen([sys.executable, "-c", HOLD, str(pid)]) as holder:
        other = f"open({str(begun)!r}, 'w')\ndef test_it():\n    pass\n"
        runs = [bench.oracle(text, isolated=isolated, name=name) for name, text in (("a", source), ("b", other))]
        job = bench.job(runs, {})
        report = harness.parse(job, run_beside(harness.commands(job), 60))
        assert holder.poll() is None
        holder.kill()
    assert [run.ending for run in report.runs] == [Ending.UNSTARTED] * 2
    assert all("could not be ended" in str(run.detail) for run in report.runs)
    assert not begun.exists()
