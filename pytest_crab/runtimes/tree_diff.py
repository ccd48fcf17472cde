"""A contestant's changes to a tree: read out of a sandbox, put onto a clean clone of head, returned as a diff."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_crab import beneath, diffs
from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.harness import channel
from pytest_crab.harness.inside import tree
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import FileChange, Snapshot
from pytest_crab.runtimes.inside import delta

#: The program that sends the difference of two trees; see inside/delta.py.
SCRIPT = program_text("pytest_crab.runtimes.inside", "delta")

#: Bytes that changes may have, names included.
MOST = diffs.MOST_MIB_CHANGED << 20

_MODES = {"link": "120000", "run": "100755", "file": "100644"}
_CHUNK = 1 << 20


def leftovers(snapshot: Snapshot) -> dict[str, Any]:
    """Return the arguments of ``delta.Leftovers`` for a revision of a snapshot's head."""
    return {
        "expression": leftover_patterns().expression,
        "marks": list(leftover_patterns().marks),
        "tracked": sorted(snapshot.tracked()),
    }


def read_changes(key: bytes, printed: bytes, left: list[str]) -> Iterator[FileChange]:
    """The changes in what ``SCRIPT`` sent; paths whose content is too much are appended to ``left``.

    Raises DiffRejected where the tree cannot be told, and EngineError where the message is not whole.
    """
    reader = channel.Reader(key)
    last = b""
    for at in range(0, len(printed), _CHUNK):
        messages = reader.feed(printed[at : at + _CHUNK])
        if messages and reader.ended:
            last = messages.pop()
        for message in messages:
            facts, _, content = message.partition(b"\n")
            path, kind = json.loads(facts)
            yield from _file_changes(path, kind, content, left)
    if not reader.whole:
        why = "something else was written there" if reader.foreign else "it breaks off"
        raise EngineError(f"a workspace's tree did not come out whole: {why}")
    if last:
        raise _rejection(last.decode("utf-8", "replace"))


def between(before: Path, after: Path, left: list[str], without: Mapping[str, Any]) -> Iterator[FileChange]:
    """Yield the changes that turn one folder of this machine into the other (see read_changes) but leftovers.

    Raises DiffRejected, and OSError where the machine is to blame.
    """
    try:
        for path, kind, content in delta.delta(str(before), str(after), MOST, delta.Leftovers(**without)):
            yield from _file_changes(path, kind, content, left)
    except delta.Refused as error:
        raise _rejection(str(error)) from None


def diff_of(snapshot: Snapshot, changes: Iterable[FileChange], left: list[str], scratch: Path, since: str) -> str:
    """The git diff from head with the diff ``since`` to head with ``changes``; ``scratch`` takes a clone for it.

    ``left`` are paths whose content is too much, filled while ``changes`` are read. Raises DiffRejected.
    """
    clone = scratch / "clone"
    snapshot.clone(clone)
    put(clone, changes)
    put(clone, (FileChange(path=path, mode="100644", content=b"") for path in left))
    return snapshot.diff(snapshot.record(clone, left=left), snapshot.apply(since))


def put(folder: Path, changes: Iterable[FileChange]) -> None:
    """Make a folder's files what ``changes`` say, in any order; no link in it is followed. Raises ValueError.

    Where they come from a sandbox, what is git's own in the folder decides what git then runs: so none of that is put.
    """
    for change in changes:
        if ".git" in change.path.lower().split("/"):
            raise ValueError(f"{change.path!r} is git's own")
        with beneath.parent(folder, change.path, make=change.content is not None) as found:
            if found is not None:
                _settle(*found, change)


def _settle(place: int, name: str, change: FileChange) -> None:
    if change.content is None:
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(name, dir_fd=place)
        return
    try:
        os.unlink(name, dir_fd=place)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        tree.remove(f"/proc/self/fd/{place}/{name}")  # type: ignore[no-untyped-call]
    if change.mode == "120000":
        os.symlink(os.fsdecode(change.content), name, dir_fd=place)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=place), "wb") as file:
        file.write(change.content)
        os.fchmod(file.fileno(), 0o755 if change.mode == "100755" else 0o644)


def _file_changes(path: str, kind: str | None, content: bytes, left: list[str]) -> Iterator[FileChange]:
    if kind == "left":
        left.append(path)
    else:
        yield FileChange(path=path, mode=_MODES[kind or "file"], content=None if kind is None else content)


def _rejection(why: str) -> DiffRejected:
    return DiffRejected(f"the revision cannot be recorded: {why}")
