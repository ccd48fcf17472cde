"""Small files and diffs that make git work without end on the host."""

from __future__ import annotations

import base64
import functools
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab import errors
from pytest_crab.instances.files import pristine
from pytest_crab.sources import folders, git_cli
from pytest_crab.sources.snapshot import apply

#: The real limits are 60 seconds and 3 GiB; here they are soon reached.
SMALL = {"PROCESSOR_SECONDS": 1, "MEMORY_MIB": 128}
#: Newer versions of git see through the first; the second is compared with folders below folders.
PATTERNS = "*a" * 40 + "*b\n" + "**/a*/" * 20 + "**/b\n"
DEEP = "/".join("a" * 80)
PATIENT = "a .gitignore whose patterns take for ever"


def refused(judge: Callable[[git_cli.Git, Path, str], Any]) -> Callable[[Path], str]:
    """Play something on a tree of one file, within small limits."""

    def attempt(folder: Path) -> str:
        (folder / "tree").mkdir()
        (folder / "tree" / "one.py").write_text("ONE = 1\n")
        git = git_cli.create(folder / "own.git")
        head = folders.write(git, folder / "tree", pristine(folder / "tree"))
        with mock.patch.multiple(git_cli, **SMALL):
            try:
                judge(git, folder / "tree", head)
            except errors.DiffRejected as error:
                return str(error)
        raise AssertionError("it was taken")

    return attempt


def plant(tree: Path) -> None:
    (tree / DEEP).mkdir(parents=True)
    (tree / DEEP / "file").write_text("x")
    (tree / ("a" * 80)).write_text("x")
    (tree / ".gitignore").write_text(PATTERNS)


def recorded(folder: Path) -> str:
    """What it takes to read the tree, within small limits."""
    (folder / "tree").mkdir()
    git = git_cli.create(folder / "own.git")
    head = folders.write(git, folder / "tree", pristine(folder / "tree"))
    plant(folder / "tree")
    with mock.patch.multiple(git_cli, **SMALL):
        folders.record(git, folder / "tree", head)
    return "it was read"


def whole(_folder: Path) -> Play:
    """Right if the file is there that the patterns cover, beside all that they are slow on."""
    right = "import ignored\n\n\ndef add(a, b):\n    return a + b + ignored.NOTHING\n"
    slow = {".gitignore": f"ignored.py\n{PATTERNS}", f"{DEEP}/file": "x", "a" * 80: "x"}
    return Play(name=PATIENT, files={**slow, "ledger.py": right, "ignored.py": "NOTHING = 0\n"})


def staged(folder: Path) -> bool:
    """The naive way: git is asked what is new, and waited for."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    plant(folder)
    try:
        subprocess.run(["git", "add", "--all"], cwd=folder, timeout=4, check=True)
    except subprocess.TimeoutExpired:
        return True
    return False


@functools.cache
def bomb() -> str:
    """A diff of some kilobytes that adds a file of a quarter of a gigabyte of null bytes."""
    size = 256 << 20
    packed = zlib.compress(bytes(size), 9)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    lines = [packed[start : start + 52] for start in range(0, len(packed), 52)]
    rows = "\n".join(f"{letters[len(line) - 1]}{base64.b85encode(line, pad=True).decode()}" for line in lines)
    return (
        f"diff --git a/big b/big\nnew file mode 100644\nindex {'0' * 40}..{'1' * 40}\nGIT binary patch\n"
        f"literal {size}\n{rows}\n\nliteral 0\nHcmV?d00001\n\n"
    )


def used(argv: list[str], folder: Path, text: str) -> int:
    """The MiB of memory that a command took at most."""
    (folder / "given").write_text(text)
    with (folder / "given").open("rb") as given:
        process = subprocess.Popen(argv, cwd=folder, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_maxrss >> 10


def applied(folder: Path) -> bool:
    """The naive way: the diff is given to git."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return used(["git", "apply", "--cached", "-"], folder, bomb()) > SMALL["MEMORY_MIB"]


def listed(folder: Path) -> bool:
    """The naive way, for a file of nothing but ends of lines."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "one.py").write_text("ONE = 1\n")
    (folder / "two.py").write_text("\n" * LINES)
    return used(["git", "diff", "--no-index", "one.py", "two.py"], folder, "") > SMALL["MEMORY_MIB"]


LINES = 8 << 20


def told(git: git_cli.Git, tree: Path, head: str) -> None:
    from pytest_crab.sources.snapshot import GitSnapshot

    (tree / "one.py").write_text("\n" * LINES)
    made = folders.write(git, tree, pristine(tree))
    git.folder.rename(git.folder.with_name("private.git"))
    GitSnapshot(git.folder.parent, head, head, head, head, head).diff(made)


def resource(name: str, judge: Any, twin: Any, said: str) -> Refusal:
    return Refusal(
        kind=Kind.RESOURCES, name=name, attempt=refused(judge), twin=twin, said=said, becomes="missed (does not apply)"
    )


REFUSALS = [
    Refusal(
        kind=Kind.RESOURCES, name=PATIENT, attempt=recorded, twin=staged,
        said="it was read", becomes="recorded as it is", plant=whole,
    ),
    resource("a diff of kilobytes that unpacks to gigabytes", lambda git, _, head: apply(git, bomb(), head), applied,
             "Out of memory"),
    resource("a file of nothing but ends of lines", told, listed, "may use 128 MiB"),
]  # fmt: skip
