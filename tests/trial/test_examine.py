"""What a revision does to itself is missed, what it does to others are regressions, what the world does is nobody's."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_crab.harness.inside.channel import KEY, frame
from pytest_crab.protocols import Command, Completed
from pytest_crab.types import Reason, Trial, Verdict

NAME = 'def name():\n    return "c"\n'
GOOD = "def value():\n    return 3\n"
DEAD = Completed(exit_code=137, stdout=b"", stderr=b"killed\n")


def value(*lines: str) -> str:
    return "def value():\n" + "".join(f"    {line}\n" for line in lines)


HOSTILE = {
    "hangs": (value("import time", "time.sleep(600)"), Reason.TIMEOUT),
    "hangs on import": ("import time\n\ntime.sleep(600)\n", Reason.TIMEOUT),
    "wants 4 GB": (value("return len(b'x' * (4 << 30))"), Reason.MEMORY),
    "forks": (
        value("import os, time", "while True:", "    if not os.fork():", "        time.sleep(60)"),
        Reason.PROCESSES,
    ),
    "floods": (value("import os", "while True:", "    os.write(1, b'x' * 65536)"), Reason.OUTPUT),
    "crashes": (value("import ctypes", "return ctypes.string_at(0)"), Reason.CRASHED),
    "exits": (value("import os", "os._exit(0)"), Reason.EXITED),
    "exits on import": ("import os\nos._exit(0)\n", Reason.EXITED),
    "fills the disk": (
        value(
            "for n in range(99):", "    with open('/tmp/%d' % n, 'wb') as file:", "        file.write(bytes(1 << 20))"
        ),
        Reason.FAILED,
    ),
}

#: What an engine, and not the harness, ends or limits.
OF_ENGINES = ("hangs", "wants 4 GB", "forks", "fills the disk")
PLAYED = [
    *(("local", what) for what in HOSTILE),
    *(pytest.param("docker", what, marks=pytest.mark.docker) for what in OF_ENGINES),
]


@pytest.fixture(scope="module")
def proved(request: pytest.FixtureRequest, make_lab: Callable[..., Any]) -> Any:
    """A lab whose proofs are in the store."""
    lab = make_lab(request.param)
    lab.document["environment"]["timeout"] = "10"  # a busy machine needs some for a thousand processes
    lab.acting({"value.py": GOOD, "name.py": NAME})
    assert lab.reasons(lab.trial()) == {"c0": "green", "c1": "green"}
    return lab


@pytest.fixture(scope="module")
def reviewed(make_lab: Callable[..., Any]) -> Any:
    """A lab on the local runtime whose review and proofs are in the store."""
    lab = make_lab()
    lab.trial()
    return lab


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("proved", "what"), PLAYED, indirect=["proved"])
def test_a_hostile_ending_is_missed_with_its_reason_and_hurts_no_other_oracle(
    what: str, proved: Any, ran: Callable[[Trial], set[str]]
) -> None:
    text, reason = HOSTILE[what]
    proved.acting({"value.py": text, "name.py": NAME})
    trial = proved.trial()
    assert ran(trial) == {"revision", "verdict"}
    first, second = trial.results
    assert (first.reason, first.verdict) == (reason, Verdict.MISSED), first.detail
    assert second.reason is Reason.GREEN
    assert trial.error is None
    assert proved.left() == []


@pytest.mark.slow(reason="a revision is installed under both runtimes")
@pytest.mark.docker
def test_a_revision_that_breaks_its_own_install_is_missed(make_lab: Callable[..., Any]) -> None:
    lab = make_lab("docker")
    setup = 'from setuptools import setup\nsetup(name="values", version="1", py_modules=["value", "name"])\n'
    lab.put("tree/setup.py", setup)
    lab.document["environment"] |= {
        "packages": ["setuptools==75.8.0"],
        "install": ["pip install --no-build-isolation --no-deps -e ."],
        "timeout": "120",  # the usual 10 s are few for pip where much else runs
    }
    lab.acting({"value.py": GOOD, "name.py": NAME, "setup.py": 'raise RuntimeError("no")\n'})
    trial = lab.trial()
    assert {result.reason for result in trial.results} == {Reason.INSTALL}, trial.error
    assert {result.verdict for result in trial.results} == {Verdict.MISSED}
    lab.acting({"value.py": GOOD, "name.py": NAME, "setup.py": setup + "# as it was\n"})
    assert lab.reasons(lab.trial()) == {"c0": "green", "c1": "green"}
    assert lab.left() == []


@pytest.mark.bubblewrap
def test_regressions_are_measured_where_the_instance_says_how(lab: Any, ran: Callable[[Trial], set[str]]) -> None:
    assert lab.trial().regressions is None
    lab.document["pass_to_pass"] = ["python", "-m", "pytest", "-q", "test_project.py"]
    assert lab.trial().regressions is False
    lab.acting({"value.py": GOOD, "name.py": 'def name():\n    return "z"\n'})
    trial = lab.trial()
    assert trial.regressions is True
    assert lab.reasons(trial) == {"c0": "green", "c1": "test failed"}
    assert lab.trial().regressions is True
    assert ran(lab.trial()) == set()


@pytest.mark.bubblewrap
def test_regressions_that_a_killed_run_left_unmeasured_are_measured(lab: Any, ran: Callable[[Trial], set[str]]) -> None:
    lab.document["pass_to_pass"] = ["python", "-m", "pytest", "-q", "test_project.py"]
    lab.trial()
    run_context = lab.run_context()
    regressions = [
        path
        for step, path in run_context.store.objects()
        if (step == "verdict" and '"unit": "trial"' in path.read_text()) or '"unit":"trial"' in path.read_text()
    ]
    assert len(regressions) == 1
    regressions[0].unlink()
    trial = lab.trial()
    assert trial.regressions is False
    assert ran(trial) == {"verdict"}


@pytest.mark.bubblewrap
def test_a_command_that_fails_at_head_proves_nothing(lab: Any) -> None:
    lab.document["pass_to_pass"] = ["python", "-c", "raise SystemExit(2)"]
    trial = lab.trial()
    assert set(lab.reasons(trial).values()) == {"broken"}
    assert "pass_to_pass does not pass at head (exit code 2" in trial.error


class Failing:
    """A runtime whose sandboxes die: all of them, or those that are given a certain text."""

    def __init__(self, runtime: Any, only: bytes = b"") -> None:
        self._runtime = runtime
        self._only = only

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def execute(self, image: Any, commands: Sequence[Command], **rest: Any) -> tuple[Completed, ...]:
        if any(self._only in command.stdin for command in commands):
            return tuple(DEAD for _ in commands)
        done: tuple[Completed, ...] = self._runtime.execute(image, commands, **rest)
        return done


def spoilt(done: Completed) -> Completed:
    """The same with a line of another process in its output."""
    return dataclasses.replace(done, stdout=done.stdout + b'{"run": {}}\n')


class Spoilt(Failing):
    """A runtime whose machine writes into all that comes out."""

    def execute(self, image: Any, commands: Sequence[Command], **rest: Any) -> tuple[Completed, ...]:
        return tuple(spoilt(done) for done in self._runtime.execute(image, commands, **rest))


class Fickle(Failing):
    """A runtime in which the marked tree's sandboxes do one thing after the other."""

    def __init__(self, runtime: Any, course: str) -> None:
        """Each letter stands for a run: d(ies), g(ood tree), b(ad one) or w(ritten to by another process)."""
        super().__init__(runtime)
        self.course = list(course)

    def execute(self, image: Any, commands: Sequence[Command], **rest: Any) -> tuple[Completed, ...]:
        if not any(MARK in command.stdin for command in commands):
            done: tuple[Completed, ...] = self._runtime.execute(image, commands, **rest)
            return done
        now = self.course.pop(0)
        if now == "d":
            hello = frame(commands[0].stdin[:KEY], 0, b'{"hello": "3"}')
            return tuple(dataclasses.replace(DEAD, stdout=hello) for _ in commands)
        bad = [dataclasses.replace(each, stdin=each.stdin.replace(RIGHT, WRONG)) for each in commands]
        played: tuple[Completed, ...] = self._runtime.execute(image, bad if now == "b" else commands, **rest)
        return tuple(spoilt(each) for each in played) if now == "w" else played


def marked(name: str) -> str:
    """A right file with a mark; its first line is 18 bytes long, so that it ends where a group of base64 does."""
    return f"# marked {name:8}\n{GOOD}"


RIGHT, WRONG = (base64.b64encode(text.encode()) for text in (GOOD, GOOD.replace("3", "4")))
#: What every marked file begins with, as the harness is sent it.
MARK = base64.b64encode(b"# marked ")


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("course", "reason", "retried"),
    [
        ("g", "green", ()),
        ("dgg", "green", ("lost",)),
        ("dgb", "test failed", ("lost",)),
        ("dbg", "test failed", ("lost",)),
        ("ddggg", "green", ("lost",)),
        ("dgdgg", "green", ("lost",)),
        ("dgdgb", "test failed", ("lost",)),
        ("ddd", "exited early", ("lost",)),
    ],
)
def test_a_tree_whose_sandbox_was_lost_is_green_once_more_for_each(
    reviewed: Any, course: str, reason: str, retried: tuple[str, ...]
) -> None:
    reviewed.acting({"value.py": marked(course), "name.py": NAME})
    runtime = Fickle(reviewed.runtime, course)
    trial = reviewed.trial(reviewed.run_context(runtime=runtime))
    assert runtime.course == []
    assert reviewed.reasons(trial)["c0"] == reason
    assert {step.step: step.retried for step in trial.steps}["verdict"] == retried


@pytest.mark.bubblewrap
def test_what_is_written_into_a_report_is_the_revisions_doing_unless_the_reference_is_written_to_as_well(
    reviewed: Any,
) -> None:
    reviewed.acting({"value.py": marked("spoilt"), "name.py": NAME})
    runtime = Fickle(reviewed.runtime, "w")
    trial = reviewed.trial(reviewed.run_context(runtime=runtime))
    assert (runtime.course, reviewed.reasons(trial)["c0"]) == ([], "tampered")
    reviewed.acting({"value.py": "# more\n" + GOOD, "name.py": NAME})
    assert reviewed.reasons(reviewed.trial(reviewed.run_context(runtime=Spoilt(reviewed.runtime))))["c0"] == "broken"


@pytest.mark.bubblewrap
def test_a_process_that_leaves_early_is_not_run_again(reviewed: Any) -> None:
    reviewed.acting({"value.py": "# marked \n" + value("import os", "os._exit(0)")})
    runtime = Fickle(reviewed.runtime, "gg")
    trial = reviewed.trial(reviewed.run_context(runtime=runtime))
    assert runtime.course == ["g"]
    assert reviewed.reasons(trial)["c0"] == "exited early"
    assert trial.steps[-1].retried == ()


@pytest.mark.bubblewrap
def test_a_world_that_fails_while_examining_is_broken_and_a_tree_that_does_is_missed(
    reviewed: Any,
) -> None:
    reviewed.acting({"value.py": marked("failing")})
    trial = reviewed.trial(reviewed.run_context(runtime=Failing(reviewed.runtime)))
    assert {result.reason for result in trial.results} == {Reason.BROKEN}
    assert "run again" in trial.error
    trial = reviewed.trial(reviewed.run_context(runtime=Failing(reviewed.runtime, MARK)))
    assert {result.verdict for result in trial.results} == {Verdict.MISSED}
    assert {result.reason for result in trial.results} == {Reason.EXITED}
