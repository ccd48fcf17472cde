"""Workspaces that hold the answer, and reports that carry what nobody is to read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.ledger import KEY
from hostile.plain import Plain, image_in
from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab import harness
from pytest_crab.ecosystems import package_caches
from pytest_crab.harness import channel
from pytest_crab.harness.inside import leak_scan
from pytest_crab.protocols import ORACLE_LIMITS, FileChange
from pytest_crab.types import Environment, Oracle
from pytest_crab.verdict import leaks

ANSWER = "def add(a, b):\n    return a + b\n"
BROKEN, UNTOLD = "unknown (broken)", "not on any record"


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
    argv = ["git", *who, "-C", str(folder), *arguments]
    return subprocess.run(argv, input=stdin, text=True, check=True, capture_output=True).stdout.strip()


def workspace(folder: Path) -> Path:
    """What a contestant gets: a checkout with two commits, a folder of packages, and a home."""
    for name in ("work", "home", "site", "elsewhere"):
        (folder / name).mkdir()
    git(folder / "work", "init", "--quiet", "--initial-branch=main")
    for text in ("", "def add(a, b):\n    return a - b\n"):
        (folder / "work" / "ledger.py").write_text(text)
        git(folder / "work", "add", ".")
        git(folder / "work", "commit", "--quiet", "--allow-empty", "-m", "x")
    subprocess.run(["rm", "-rf", str(folder / "work" / ".git" / "logs")], check=True)
    return folder


def looked(folder: Path) -> tuple[str, ...]:
    """What the leak proof says of a workspace."""
    job = {
        "leaks": {"project": "ledger", "files": ["test_c0.py"], "caches": package_caches()}, "contained": False,
        "site": [str(folder / "site")],
        "workdir": str(folder / "work"), "scratch": str(folder / "home"), "tree": str(folder / "work"),
    }  # fmt: skip
    return leaks(leak_scan.look(job), refs={"refs/heads/main"}, version="1.0")


def leaving(plant: Callable[[Path], object]) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        before = looked(workspace(folder))
        plant(folder)
        return "\n".join(said for said in looked(folder) if said not in before)

    return attempt


def reading(plant: Callable[[Path], object], *argv: str) -> Callable[[Path], bool]:
    """The naive way: nobody looks, and a contestant finds the answer with a command."""

    def twin(folder: Path) -> bool:
        plant(workspace(folder))
        done = subprocess.run(
            ["sh", "-c", *argv], cwd=folder / "work", capture_output=True, text=True, errors="replace"
        )
        return "return a + b" in done.stdout

    return twin


def branch(folder: Path) -> None:
    """The history of a full clone: the answer on a branch of the pull request, and where it came from."""
    work = folder / "work"
    git(work, "checkout", "--quiet", "-b", "pr-head")
    (work / "ledger.py").write_text(ANSWER)
    git(work, "commit", "--quiet", "-am", "review")
    git(work, "checkout", "--quiet", "main")
    git(work, "remote", "add", "origin", "https://example.invalid/o/r")


def dangling(folder: Path) -> None:
    """The branch was removed, and its objects were not."""
    branch(folder)
    git(folder / "work", "branch", "--quiet", "-D", "pr-head")
    git(folder / "work", "remote", "remove", "origin")
    subprocess.run(["rm", "-rf", str(folder / "work" / ".git" / "logs")], check=True)


def borrowed(folder: Path) -> None:
    """The objects lie in another repository, from which this one borrows."""
    other = folder / "elsewhere"
    git(other, "init", "--quiet")
    git(other, "hash-object", "-w", "--stdin", stdin=ANSWER)
    (folder / "work" / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")


def cached(folder: Path) -> None:
    place = folder / "home" / ".cache" / "pip" / "wheels"
    place.mkdir(parents=True)
    (place / "ledger.py").write_text(ANSWER)


def released(folder: Path) -> None:
    (folder / "site" / "ledger-2.0.dist-info").mkdir()
    (folder / "site" / "ledger-2.0.dist-info" / "METADATA").write_text("Name: ledger\nVersion: 2.0\n")
    (folder / "site" / "ledger.py").write_text(ANSWER)


def oracle(folder: Path) -> None:
    (folder / "home" / "test_c0.py").write_text(f"# {ANSWER}")


ALL = "git cat-file --batch-all-objects --batch"
SEEK = "cat $(find .. -name '{}')"

# --- what comes out by the report ------------------------------------------------------------------------------------

LOOKING = """\
import sys, os
def add(a, b):
    there = sys._getframe(1).f_code.co_consts
    told = [part for part in there if isinstance(part, str) and part.startswith('sk-')]
    %s
    return a - b
"""
SECRETIVE = f"def test_it():\n    from ledger import add\n    key = {KEY!r}\n    assert add(2, 2) == 4\n"
SAYING = LOOKING % "raise ValueError('the key is %s' % told)"
PRINTING = LOOKING % "os.write(1, repr(told).encode()); os.write(2, repr(told).encode())"


def reporting(code: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        image = image_in(folder)
        run = harness.OracleRun(id="a", state="a", seconds=30, oracle=Oracle(file="test_c0.py"), source=SECRETIVE)
        change = FileChange(path="ledger.py", mode="100644", content=code.encode())
        job = harness.Job(image=image, environment=Environment(dockerfile="python"), states={"a": [change]}, runs=[run])
        (done,) = Plain().execute(image, harness.commands(job), limits=ORACLE_LIMITS, seconds=60)
        assert KEY.encode() not in done.stdout + done.stderr
        line = next(line for line in channel.read_messages(job.key, done.stdout).messages if b'"run"' in line)
        return line.decode()

    return attempt


def capturing(code: str) -> Callable[[Path], bool]:
    """The naive way: what pytest prints is kept."""

    def twin(folder: Path) -> bool:
        (folder / "ledger.py").write_text(code)
        (folder / "test_c0.py").write_text(SECRETIVE)
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", "test_c0.py"]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
        assert KEY in done.stdout, done.stdout + done.stderr
        return True

    return twin


def leak(name: str, plant: Callable[[Path], None], command: str, said: str) -> Refusal:
    return Refusal(
        kind=Kind.LEAKS, name=name, attempt=leaving(plant), twin=reading(plant, command), said=said, becomes=BROKEN
    )


def carried(name: str, code: str) -> Refusal:
    attempt: Any = reporting(code)
    return Refusal(
        kind=Kind.EXFILTRATION,
        name=name,
        attempt=attempt,
        twin=capturing(code),
        said='"outcome": "failed"',
        becomes=UNTOLD,
        plant=lambda _: Play(name=name, files={"ledger.py": code}),
    )


REFUSALS = [
    leak("a full clone", branch, "git log --all -p", "the remote setting|the ref"),
    leak("a commit that no branch names", dangling, ALL, "3 commits"),
    leak("objects that are borrowed", borrowed, ALL, "elsewhere/.git/objects"),
    leak("a package cache", cached, SEEK.format("ledger.py"), "a package cache in"),
    leak("a later release that is installed", released, SEEK.format("ledger.py"), "installed as ledger 2.0"),
    leak("an oracle that was left", oracle, SEEK.format("test_c0.py"), "an oracle's file lies in the workspace"),
    carried("the oracle's text in an exception", SAYING),
    carried("the oracle's text in the output", PRINTING),
]  # fmt: skip
