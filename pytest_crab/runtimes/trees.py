"""What a contestant changed in a tree: read out of a sandbox, put onto a clean clone of head, told as a diff."""

from __future__ import annotations

import importlib.resources
import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from pathlib import PurePosixPath

from pytest_crab.errors import EngineError
from pytest_crab.protocols import FileChange
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes.inside import delta

#: The program that prints the difference of two trees; see inside/delta.py.
SCRIPT = importlib.resources.files("pytest_crab.runtimes.inside").joinpath("delta.py").read_text(encoding="utf-8")


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
    """Make a folder's files what ``changes`` say, removals first, and write through no link."""
    for change in sorted(changes, key=lambda change: (change.content is not None, change.path)):
        target = folder / change.path
        if change.content is None:
            if target.is_symlink() or target.is_file():
                target.unlink()
            continue
        _make_way(folder, target)
        if change.mode == "120000":
            target.symlink_to(os.fsdecode(change.content))
            continue
        target.write_bytes(change.content)
        target.chmod(0o755 if change.mode == "100755" else 0o644)


def _make_way(folder: Path, target: Path) -> None:
    for parent in reversed(target.relative_to(folder).parents):
        place = folder / parent
        if place.is_symlink() or place.is_file():
            place.unlink()
        place.mkdir(exist_ok=True)
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)


def _change(tar: tarfile.TarFile, member: tarfile.TarInfo) -> FileChange:
    what, _, path = member.name.partition("/")
    parts = PurePosixPath(path).parts
    if what not in ("d", "f") or not parts or path.startswith("/") or ".." in parts or parts[0] == ".git":
        raise EngineError(f"a workspace's tree came out with the path {member.name!r}, which is not of a tree")
    if what == "d":
        return FileChange(path=path, mode="100644", content=None)
    if member.issym():
        return FileChange(path=path, mode="120000", content=os.fsencode(member.linkname))
    stream = tar.extractfile(member) if member.isreg() else None
    if stream is None:
        raise EngineError(f"a workspace's tree came out with {path!r}, which is neither a file nor a link")
    return FileChange(path=path, mode="100755" if member.mode & 0o100 else "100644", content=stream.read())
