"""Under pytest-xdist: the same numbers, once, and a dead worker is nobody's miss."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap
pytest.importorskip("xdist")


def table(result: pytest.RunResult) -> list[str]:
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if "= results =" in line)
    others = ("records: ", "===", "ERROR", "FAILED", "Seconds per review")  # kept reviews take no time
    return [" ".join(line.split()) for line in lines[start:] if not line.startswith(others)]


@pytest.mark.slow(reason="each run of pytest has workers, which are processes of their own")
def test_the_summary_is_the_same_and_is_said_once(lab: Any) -> None:
    lab.make_sick()
    arguments = ("--reviewer=human", "--reviewer=none", "--crab-repeat=2", "-v", "instances")
    alone = lab.run(*arguments)
    records = [(trial["instance"], trial["reviewer"], trial["repeat"]) for trial in lab.records()]
    result = lab.spawn(*arguments, "-n2", "--crab-junit=oracles.xml", "--junitxml=junit.xml")
    outcomes = alone.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"], outcomes["errors"]) == (4, 4, 4)
    assert result.parseoutcomes() == outcomes
    assert result.ret == 1
    assert table(result) == table(alone)
    assert result.stdout.str().count("crab: reviewers") == 1
    assert result.stdout.str().count("= results =") == 1
    assert sorted((trial["instance"], trial["reviewer"], trial["repeat"]) for trial in lab.records()) == sorted(records)
    trials = [line.split("  ")[0] for line in result.outlines if "/2 caught; " in line]
    assert trials == [f"{name}::{who}" + ("" if n == 1 else f"[{n}]") for name, who, n in records]
    assert (lab.path / "junit.xml").read_text().count('name="crab.reviewer"') == 12


def test_with_words_and_ordinary_tests(lab: Any) -> None:
    lab.write({"test_ours.py": "def test_good():\n    pass\n\ndef test_bad():\n    assert 0\n"})
    result = lab.spawn("--reviewer=none", "-n1", "-v", "instances/shop-1", "test_ours.py")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*MISSED 0/2 caught *instances/shop-1/instance.yaml::none*"])
    assert len(lab.records()) == 1


@pytest.mark.slow(reason="each run of pytest has workers, which are processes of their own")
def test_a_gate_decides_on_the_controller(lab: Any) -> None:
    result = lab.spawn("--reviewer=half", "--agent=mine", "--crab-fail-under=0.5", "-n1", "instances")
    assert result.ret == 0
    lab.write({"test_ours.py": "def test_bad():\n    assert 0\n"})
    result = lab.spawn("--reviewer=half", "--agent=mine", "--crab-fail-under=0.5", "-n1", "instances", "test_ours.py")
    assert result.ret == 1


@pytest.mark.parametrize("option", ["--collect-only", "--crab-plan"])
def test_what_runs_nothing_runs_nothing(lab: Any, option: str) -> None:
    lab.forget("verdict")
    result = lab.spawn("--reviewer=human", "-n1", option, "instances")
    assert result.ret == 0
    assert not (lab.store / "report").exists()
    assert not (lab.store / "steps" / "verdict").exists()


DEADLY = """\
import os, signal
def pytest_crab_review_done(instance, config):
    if instance.id == "shop-1":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
def test_a_worker_that_dies_breaks_its_trial_alone(lab: Any) -> None:
    lab.write({"conftest.py": DEADLY})
    lab.forget("review")
    result = lab.spawn("--reviewer=human", "-n2", "instances")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*crashed while running*shop-1*"])
    shop, till = sorted(lab.records(), key=lambda trial: trial["instance"])
    assert {found["reason"] for found in shop["scores"]} == {"broken"}
    assert "worker process" in shop["error"]
    assert {found["reason"] for found in till["scores"]} == {"green"}


@pytest.mark.slow(reason="each run of pytest has workers, which are processes of their own")
def test_a_worker_that_dies_in_an_ordinary_test_is_forgiven_by_no_gate(lab: Any) -> None:
    lab.write({"test_ours.py": "import os\n\ndef test_deadly():\n    os._exit(3)\n"})
    result = lab.spawn("--reviewer=both", "--agent=mine", "--crab-fail-under=0.5", "-n2", "instances", "test_ours.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Gate not applied, exit status 1: something besides the trials failed.*"])
    assert len(lab.records()) == 2


SLOW = "import json, time\ntime.sleep(0.8)\nprint(json.dumps({'schema': 1, 'findings': []}))\n"


@pytest.fixture
def slow(lab: Any) -> Any:
    command = f"[{sys.executable}, slow.py]"
    settings = f"reviewers: {{slow: {{use: command, command: {command}, files: [slow.py]}}}}\n"
    lab.write({"slow.py": SLOW, "crab.yaml": settings})
    return lab


@pytest.mark.slow(reason="each run of pytest has workers, which are processes of their own")
def test_the_controller_says_how_far_its_workers_are(slow: Any) -> None:
    slow.write(
        {
            "conftest.py": "from pytest_crab.campaign import progress\nprogress.RunClock.is_due = lambda self: True\n",
            "test_ours.py": "def test_good():\n    pass\n",
        }
    )
    result = slow.spawn("--reviewer=slow", "--crab-repeat=3", "--crab-budget=5", "-n2", "instances", "test_ours.py")
    trials = len(slow.records())
    lines = [line for line in result.outlines if line.startswith("crab: ") and " trials | " in line]
    counts = [
        re.match(rf"crab: (\d+)/{trials} trials \| [^|]+\|(?:[^|]+\|)? (\d+) running, (\d+) to come", line)
        for line in lines
    ]
    assert all(counts), lines
    done = [int(count[1]) for count in counts if count]
    assert done == sorted(done)
    assert any(0 < count < trials for count in done)
    assert done[-1] <= trials
    assert max(int(count[2]) for count in counts if count) == 2
    assert all("0.00 of 5.00 USD" in line for line in lines)
    assert any("::slow runs " in line for line in lines)


@pytest.mark.slow(reason="runs of pytest have workers, which are processes of their own")
def test_on_a_terminal_its_line_is_wiped(slow: Any, on_terminal: Any, seen: Any) -> None:
    argv = [sys.executable, "-m", "pytest", "--crab-runtime=local", "--reviewer=slow", "-n2", "instances"]
    text = on_terminal(slow.path, argv)
    assert re.search(r"\[0/\d+ trials \| \d+ s \| 2 running, \d+ to come", text), text
    assert " running, " not in seen(text)
