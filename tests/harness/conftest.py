"""A bench for the harness: a small tree, an interpreter with pytest, and the job run as a plain subprocess."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pytest_crab import harness
from pytest_crab.protocols import Command, Completed, FileChange, Image, InstallResult
from pytest_crab.types import Environment, Isolation, Oracle, Proof, Run


def run_beside(commands: Sequence[Command], seconds: float) -> tuple[Completed, ...]:
    """Run commands beside each other until the first has ended."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [subprocess.Popen(list(command.argv), cwd="/", **pipes) for command in commands]
    for process, command in zip(started[1:], commands[1:], strict=True):
        assert process.stdin is not None
        process.stdin.write(command.stdin)
        process.stdin.close()
        process.stdin = None
    done = []
    for process, stdin in zip(started, [commands[0].stdin, *[None] * len(commands)], strict=False):
        try:
            out, err = process.communicate(stdin, timeout=seconds)
            done.append(Completed(exit_code=process.returncode, stdout=out, stderr=err))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            done.append(Completed(exit_code=None, stdout=out, stderr=err, timed_out=True))
    return tuple(done)


def told(run: Run) -> dict[str, str]:
    """The outcomes of a run by test."""
    return {test.id: test.outcome for test in run.tests}


def proof(*expected: str) -> Proof:
    """A proof of an oracle with these tests."""
    return Proof(comment="c0", expected=expected, runs=2, flake_bound=0.8)


def changed(path: str, text: str, mode: str = "100644") -> FileChange:
    """A change that makes a file hold this text."""
    return FileChange(path=path, mode=mode, content=text.encode())


@dataclass
class Bench:
    """A tree and an interpreter; ``report`` runs oracles on it."""

    folder: Path
    python: str = sys.executable
    site: tuple[str, ...] = (sysconfig.get_path("purelib"),)
    paths: tuple[str, ...] = (".",)
    env: Mapping[str, str] = field(default_factory=dict)
    build: tuple[str, ...] | None = None
    output: int = 1 << 20
    installs: Mapping[str, InstallResult] = field(default_factory=dict)
    leaks: harness.LeakQuestion | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("tree", "work", "scratch", "meet"):
            (self.folder / name).mkdir()
        self.write("ledger.py", "def add(a, b):\n    return a + b\n")

    def write(self, path: str, text: str) -> None:
        (self.folder / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / "tree" / path).write_text(text)

    def image(self) -> Image:
        return Image(
            key="key", reference="bench", tree=str(self.folder / "tree"), workdir=str(self.folder / "work"),
            interpreter=self.python, site=self.site, scratch=str(self.folder / "scratch"), contained=False,
            facts={"socket_folder": str(self.folder / "meet"), "counters": {}, **self.facts},
        )  # fmt: skip

    def job(self, runs: Sequence[harness.AnyRun], states: Mapping[str, Sequence[FileChange]]) -> harness.Job:
        environment = Environment(dockerfile="python", paths=self.paths, env=self.env, build=self.build)
        return harness.Job(
            image=self.image(), environment=environment, states={"head": (), **states}, runs=runs,
            installs=self.installs, leaks=self.leaks, output=self.output,
        )  # fmt: skip

    def report(self, runs: Sequence[harness.AnyRun], **states: Sequence[FileChange]) -> harness.HarnessReport:
        job = self.job(runs, states)
        return harness.parse(job, run_beside(harness.commands(job), 120))

    def own(self, ecosystem: str, file: str, **states: Sequence[FileChange]) -> dict[str, dict[str, str]]:
        """The outcomes of a file of the project's own tests, by state."""
        asked = {"ecosystem": ecosystem, "files": (file,), "names": (), "seconds": 100}
        report = self.report([harness.OwnTestsRun(id=name, state=name, **asked) for name in states], **states)
        assert report.problems == ()
        return {run.id: told(run) for run in report.runs}

    def quoted(self, oracle: Oracle, source: str, *changes: FileChange) -> Mapping[str, str]:
        """What failed tests say in a run of which an author is told that."""
        run = harness.OracleRun(id="c0", state="now", seconds=100, oracle=oracle, source=source, printed=True)
        return self.report([run], now=changes).quoted["c0"]

    def oracle(
        self, source: str, *, state: str = "head", seconds: float = 60, isolated: bool = False, name: str = "c0",
        plugins: tuple[str, ...] = (),
    ) -> harness.OracleRun:  # fmt: skip
        isolation = Isolation.PROCESS if isolated else Isolation.NONE
        oracle = Oracle(file="oracles/test_c0.py", isolation=isolation, plugins=plugins)
        return harness.OracleRun(id=name, state=state, seconds=seconds, oracle=oracle, source=source)

    def run(self, source: str, *, seconds: float = 60, isolated: bool = False, **files: str | None) -> Run:
        """Run one oracle after writing some modules of the tree (name=text)."""
        for name, text in files.items():
            self.write(f"{name}.py", text or "")
        report = self.report([self.oracle(source, seconds=seconds, isolated=isolated)])
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "bench"
    folder.mkdir()
    return Bench(folder)


#: Names other interpreters that have a pytest, as paths separated as PATH is.
PYTHONS = "CRAB_TEST_PYTHONS"
PROBE = "import json, os, pytest, sys; print(json.dumps([sys.executable, os.path.dirname(os.path.dirname(pytest.__file__))]))"  # noqa: E501 - code in a text


@functools.cache
def probe(python: str) -> tuple[str, str] | None:
    """Return an interpreter's own path and the folder that its pytest lies in; None if it has none."""
    done = subprocess.run([python, "-c", PROBE], capture_output=True, check=False, cwd="/")
    if done.returncode:
        return None
    executable, folder = json.loads(done.stdout)
    return executable, folder if folder.endswith("-packages") else str(Path(folder) / "site-packages")


def pythons() -> list[str]:
    return os.environ[PYTHONS].split(os.pathsep) if os.environ.get(PYTHONS) else [PYTHONS]


@pytest.fixture(params=pythons(), ids=lambda path: path.strip("/").replace("/", "-"))
def interpreter(request: pytest.FixtureRequest, without: Callable[[str, str], NoReturn]) -> SimpleNamespace:
    """Another interpreter with a pytest of its own, and the folder of its packages."""
    if request.param == PYTHONS:
        without("pythons", f"{PYTHONS} names no other interpreter with a pytest")
    found = probe(request.param)
    assert found is not None, f"{request.param}, named by {PYTHONS}, has no pytest"
    return SimpleNamespace(python=found[0], site=(found[1],))
