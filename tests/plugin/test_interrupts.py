"""A run that is interrupted ends soon, leaves nothing running, and can be taken up again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

Until = Callable[[Callable[[], object]], None]

#: Seconds that a run may take to end on a busy machine; what these runs must not wait for takes an hour.
PATIENCE = 300

SLOW = "import pathlib, sys, time\nprint('begun', file=sys.stderr, flush=True)\ntime.sleep(987.25)\n"
STUBBORN = """\
from pytest_crab.campaign.trial_pool import TrialPool
import time
def pytest_configure(config):
    stop = TrialPool.stop
    def slowly(self):
        print("stopping", flush=True)
        time.sleep(3600)
        stop(self)
    TrialPool.stop = slowly
"""
#: Interrupts again in the few lines between the one that catches an interrupt and the hooks that hear of it.
EARLY = """\
import os, signal, sys, time
import _pytest.main
info = _pytest.main._pytest._code.ExceptionInfo
real = info.from_current.__func__
def from_current(cls, *arguments, **more):
    if sys._getframe(1).f_code.co_name == "wrap_session":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(3600)
    return real(cls, *arguments, **more)
info.from_current = classmethod(from_current)
"""


#: What every end that a signal brings says, in one line.
KEPT = re.compile(
    r"(?m)^crab: ended by (.+); finished steps are kept in \S+\.crab: run the same command again to go on; "
    r"pytest-crab report \S+ shows"
)


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would all that these tests start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def sleepers(lab: Any) -> set[int]:
    """The processes that run this test's own slow reviewer."""
    script = str(lab.path / "slow_reviewer.py").encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if script in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def start(lab: Any, until: Until) -> Iterator[Callable[..., Any]]:
    lab.write({"slow_reviewer.py": SLOW})
    lines = "  slow: {use: command, command: [PYTHON, slow_reviewer.py], files: [slow_reviewer.py]}\n"
    with (lab.path / "crab.yaml").open("a") as file:
        file.write(lines.replace("PYTHON", sys.executable))
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "pytest", "--crab-runtime=local", "--agent=mine", *arguments, "instances"]
        process = subprocess.Popen(
            argv,
            cwd=lab.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no other thread runs here
        )
        begun.append(process)
        until(lambda: sleepers(lab) or process.poll() is not None)
        assert process.poll() is None, process.stdout and process.stdout.read()
        return process

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_what_runs_is_ended_and_the_rest_is_on_the_record(lab: Any, start: Any) -> None:
    process = start(
        "--reviewer=human", "--reviewer=slow", "--crab-jobs=1", "--crab-fail-under=0.5", "--crab-junit=oracles.xml"
    )
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "KeyboardInterrupt" in output
    assert "Gate not applied, exit status 2" in output
    assert not sleepers(lab)
    trials = {(trial["instance"], trial["reviewer"]): trial for trial in lab.records()}
    assert len(trials) == 4
    assert {found["reason"] for found in trials["shop-1", "human"]["scores"]} == {"green"}
    assert {found["reason"] for found in trials["shop-1", "slow"]["scores"]} == {"not run"}
    assert {found["reason"] for found in trials["till-2", "human"]["scores"]} == {"not run"}
    assert (lab.path / "oracles.xml").exists()
    lab.run("--reviewer=human", "--agent=mine", "instances").assert_outcomes(passed=2)
    assert [trial["revision"] for trial in lab.reused()] == [True, False]


def test_a_second_interrupt_ends_the_process_at_once(lab: Any, start: Any, until: Until) -> None:
    lab.write({"conftest.py": STUBBORN})
    process = start("--reviewer=slow", "-s")
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if "stopping" in line:
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert KEPT.findall(output) == ["a second Ctrl-C"]
    until(lambda: not sleepers(lab))


def test_a_second_interrupt_may_come_while_pytest_writes_about_the_first(lab: Any, start: Any) -> None:
    hook = "def pytest_keyboard_interrupt():\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(3600)\n"
    lab.write({"conftest.py": f"import os, signal, time\n\n\n{hook}"})
    process = start("--reviewer=slow")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert KEPT.findall(output) == ["a second Ctrl-C"]
    assert "Traceback" not in output


def test_a_second_interrupt_may_come_before_pytest_heeds_the_first(lab: Any, start: Any) -> None:
    """Raised where pytest has just caught the first, it would end as a traceback and with another status."""
    lab.write({"conftest.py": EARLY})
    process = start("--reviewer=slow")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert KEPT.findall(output) == ["a second Ctrl-C"]
    assert "Traceback" not in output


@pytest.mark.slow(reason="four runs, each ended in the middle and made again")
@pytest.mark.parametrize("more", [(), ("-n2",)], ids=["alone", "workers"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_run_says_what_is_kept(
    lab: Any, start: Any, number: Any, more: tuple[str, ...], until: Until
) -> None:
    process = start("--reviewer=human", "--reviewer=slow", "--crab-jobs=1", *more)
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == -number
    assert KEPT.findall(output) == [number.name]
    until(lambda: not sleepers(lab))
    lab.run("--reviewer=human", "--agent=mine", "instances/shop-1").assert_outcomes(passed=1)


def test_a_hang_up_that_is_ignored_stays_ignored(lab: Any) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        lab.write({"conftest.py": "import os, signal\n\ndef pytest_runtest_setup():\n    os.kill(os.getpid(), 1)\n"})
        lab.spawn("--reviewer=human", "instances").assert_outcomes(passed=2)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_killed_run_leaves_no_client_and_is_taken_up_again(lab: Any, start: Any, until: Until) -> None:
    process = start("--reviewer=human", "--reviewer=slow", "--crab-jobs=1")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    until(lambda: not sleepers(lab))
    lab.run("--reviewer=human", "--agent=mine", "instances/shop-1").assert_outcomes(passed=1)
    (reused,) = lab.reused()
    assert reused["review"]
    assert reused["revision"]
    assert reused["verdict"]


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
def test_an_interrupt_reaches_the_workers_of_xdist(lab: Any, start: Any, until: Until) -> None:
    process = start("--reviewer=slow", "-n2")
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    until(lambda: not sleepers(lab))
    assert {found["reason"] for trial in lab.records() for found in trial["scores"]} == {"not run"}
