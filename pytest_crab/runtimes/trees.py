"""What a contestant changed in a tree: read out of a sandbox, put onto a clean clone of head, told as a diff."""

from __future__ import annotations

import importlib.resources
import io
import os
import tarfile
from collections.abc import Iterable
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pytest_crab import beneath
from pytest_crab.errors import EngineError
from pytest_crab.harness.inside import tree
from pytest_crab.protocols import FileChange
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes.inside import delta

#: The program that prints the difference of two trees; see inside/delta.py.
SCRIPT = importlib.resources.files("pytest_crab.runtimes.inside").joinpath("delta.py").read_text(encoding="utf-8")

#: Bytes: what no file system takes.
_LONGEST_NAME, _LONGEST_PATH = 255, 4096


def received(archive: bytes) -> Iterator[FileChange]:
    """The changes in what ``SCRIPT`` printed; it may be forged, so every path is looked at. Raises EngineError."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for member in tar:
                yield _change(tar, member)
    except tarfile.TarError as error:
        raise EngineError(f"a workspace's tree came out as no archive: {error}") from error


def between(before: Path, after: Path) -> Iterator[FileChange]:
    """What turns one folder of this machine into the other; nothing runs in ``after`` meanwhile."""
    modes = {"link": "120000", "run": "100755", "file": "100644", None: "100644"}
    for path, kind, content in delta.delta(str(before), str(after)):
        yield FileChange(path=path, mode=modes[kind], content=None if kind is None else content)


def diff_of(snapshot: Snapshot, changes: Iterable[FileChange], scratch: Path) -> str:
    """The git diff that ``changes`` make of head; ``scratch`` takes the clone that is needed for it."""
    clone = scratch / "clone"
    snapshot.clone(clone)
    put(clone, changes)
    return snapshot.diff(snapshot.record(clone))


def put(folder: Path, changes: Iterable[FileChange]) -> None:
    """Make a folder's files what ``changes`` say, in any order; no link in it is followed. Raises ValueError."""
    for change in changes:
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


def _is_of_a_tree(path: str) -> bool:
    parts = path.split("/")
    named = all(0 < len(os.fsencode(part)) <= _LONGEST_NAME and part not in (".", "..") for part in parts)
    return named and parts[0] != ".git" and "\0" not in path


def _change(tar: tarfile.TarFile, member: tarfile.TarInfo) -> FileChange:
    what, _, path = member.name.partition("/")
    if what not in ("d", "f") or not _is_of_a_tree(path):
        raise EngineError(f"a workspace's tree came out with the path {member.name!r}, which is not of a tree")
    if what == "d":
        return FileChange(path=path, mode="100644", content=None)
    if member.issym():
        if not 0 < len(os.fsencode(member.linkname)) < _LONGEST_PATH or "\0" in member.linkname:
            raise EngineError(f"a workspace's tree came out with the link {path!r}, which points nowhere")
        return FileChange(path=path, mode="120000", content=os.fsencode(member.linkname))
    stream = tar.extractfile(member) if member.isreg() else None
    if stream is None:
        raise EngineError(f"a workspace's tree came out with {path!r}, which is neither a file nor a link")
    return FileChange(path=path, mode="100755" if member.mode & 0o100 else "100644", content=stream.read())
