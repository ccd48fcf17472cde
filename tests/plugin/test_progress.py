"""The progress line: what it says, where it appears, and that nothing of it stays."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.campaign.progress import Progress, RunClock, RunningTrial, progress_text

Terminal = Callable[..., str]
Seen = Callable[[str], str]


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(), "0/9 trials | 1 s | 0 running, 9 to come"),
        (
            Progress(running=(RunningTrial("a::human", "proof", 3.4),), elapsed=5.0),
            "0/9 trials | 5 s | 1 running, 8 to come | a::human proof 3s",
        ),
        (
            Progress(running=tuple(RunningTrial(f"{name}::r", "review", 1.0) for name in "abcd"), cost_usd=0.5),
            "0/9 trials | 1 s | 4 running, 5 to come | 0.50 USD | a::r review 1s, b::r review 1s, 2 more",
        ),
    ],
)
def test_text(progress: Progress, text: str, terminal: Terminal) -> None:
    assert progress_text(progress, 9) == text


def test_time_and_money_are_told_with_what_is_left() -> None:
    running = tuple(RunningTrial(f"{name}::r", "review", 1.0) for name in "ab")
    progress = Progress(running=running, done=3, cost_usd=0.5, elapsed=60.0)
    counts, *times, money, _ = progress_text(progress, 9, budget=5.0).split(" | ")
    assert (counts, money) == ("3/9 trials", "0.50 of 5.00 USD")
    assert times == ["60 s", "about 2 min left", "2 running, 4 to come"]
    first = Progress(running=running, elapsed=5.0)
    assert progress_text(first, 9, budget=5.0).split(" | ")[1:4:2] == ["5 s", "0.00 of 5.00 USD"]


def test_a_line_is_due_every_thirty_seconds() -> None:
    times = iter([0.0, 29.0, 30.0, 31.0, 59.0, 60.0])
    clock = RunClock(30.0, lambda: next(times))
    assert [clock.is_due() for _ in range(5)] == [False, True, False, False, True]


SLOW = "import json, time\ntime.sleep(0.8)\nprint(json.dumps({'schema': 1, 'findings': []}))\n"


@pytest.fixture
def slow(lab: Any) -> Any:
    lab.write({"slow.py": SLOW})
    command = f"[{sys.executable}, slow.py]"
    lab.write({"crab.yaml": f"reviewers: {{slow: {{use: command, command: {command}, files: [slow.py]}}}}\n"})
    return lab


@pytest.fixture
def terminal(on_terminal: Terminal) -> Callable[..., str]:
    """Gives what pytest writes on a terminal of 100 columns."""
    argv = [sys.executable, "-m", "pytest", "--crab-runtime=local", "--reviewer=slow", "instances/shop-1"]
    return lambda folder, *arguments: on_terminal(folder, [*argv, *arguments])


@pytest.mark.bubblewrap
@pytest.mark.parametrize("arguments", [(), ("-s",), ("-v",), ("--capture=sys",), ("-p", "no:capture")])
def test_it_appears_on_a_terminal_and_is_wiped(
    slow: Any, arguments: tuple[str, ...], terminal: Terminal, seen: Seen
) -> None:
    text = terminal(slow.path, *arguments)
    assert re.search(r"\[0/1 trials \| \d+ s \| 1 running, 0 to come[] ]", text), text
    screen = seen(text)
    assert "0/1 trials" not in screen
    assert re.search(r"^instances/shop-1/instance\.yaml.*M(ISSED 0/2 caught)?( +\[100%\])?$", screen, re.MULTILINE), (
        screen
    )
    assert max(len(line) for line in screen.splitlines() if line.startswith("instances/shop-1")) <= 100


@pytest.mark.bubblewrap
@pytest.mark.parametrize("arguments", [("-q",), ("-p", "no:terminal")])
def test_it_keeps_out_of_where_little_is_wanted(slow: Any, arguments: tuple[str, ...], terminal: Terminal) -> None:
    assert "0/1 trials" not in terminal(slow.path, *arguments)


#: Says that a worker is lost when the header is out and a trial is waited for.
LOSER = """\
from pytest_crab.plugin.runner import Runner
told = [[], ["lost worker w1 (1 trial under way)"]]
Runner.news = lambda self: told.pop(0) if told else []
Runner.losses = lambda self: "1 worker was lost"
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("arguments", [("-s",), ("-v",)])
def test_what_happens_to_workers_has_a_line_of_its_own(
    slow: Any, arguments: tuple[str, ...], terminal: Terminal, seen: Seen
) -> None:
    slow.write({"conftest.py": LOSER})
    screen = seen(terminal(slow.path, *arguments))
    assert len(re.findall(r"^crab: lost worker w1 \(1 trial under way\)$", screen, re.MULTILINE)) == 1, screen
    outcome = r"^(M|instances/shop-1/instance\.yaml::slow MISSED 0/2 caught)( +\[100%\])?$"
    assert re.search(outcome, screen, re.MULTILINE), screen
    assert screen.count("crab: 1 worker was lost") == 1


@pytest.mark.bubblewrap
def test_in_quiet_output_it_stands_before_the_results(slow: Any, terminal: Terminal, seen: Seen) -> None:
    slow.write({"conftest.py": LOSER.replace("[[], [", "[[")})
    screen = seen(terminal(slow.path, "-q"))
    assert re.search(r"^M +\[100%\]$", screen, re.MULTILINE), screen
    before, _, results = screen.partition("= results =")
    assert "crab: lost worker w1 (1 trial under way)\ncrab: 1 worker was lost\n" in before
    assert "report: " in results


@pytest.mark.bubblewrap
def test_without_a_terminal_it_has_lines_of_its_own(slow: Any) -> None:
    slow.write(
        {"conftest.py": "from pytest_crab.campaign import progress\nprogress.RunClock.is_due = lambda self: True\n"}
    )
    result = slow.spawn("--reviewer=slow", "instances/shop-1")
    assert "\b" not in result.stdout.str()
    result.stdout.fnmatch_lines(["crab: 0/1 trials | * | 1 running, 0 to come | *"])
    assert "0/1 trials" not in slow.spawn("--reviewer=slow", "-q", "instances/shop-1").stdout.str()


NOTES = """
import json, pathlib

def pytest_crab_review_done(instance, reviewer, review, config):
    (folder,) = pathlib.Path(".crab/runs").iterdir()
    if not pathlib.Path("seen.json").exists():
        found = {name: json.loads((folder / name).read_text()) for name in ("plan.json", "progress.json")}
        pathlib.Path("seen.json").write_text(json.dumps(found))
"""


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_run_says_beside_its_records_how_far_it_is(slow: Any, workers: tuple[str, ...]) -> None:
    slow.write({"conftest.py": NOTES})
    slow.spawn("--reviewer=slow", "--crab-repeat=2", *workers, "instances")
    seen = json.loads((slow.path / "seen.json").read_text())
    names = ["shop-1::slow", "shop-1::slow[2]", "till-2::slow", "till-2::slow[2]"]
    assert sorted(seen["plan.json"]["trials"]) == names
    assert seen["progress.json"]["done"] == 0, "it is there before the first trial has ended"
    left = {path.name for path in (slow.report).iterdir()}
    assert {"trials.jsonl", "index.html"} <= left
    assert not {"plan.json", "progress.json"} & left, "the run has ended"
