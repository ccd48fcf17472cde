"""Folders of this user for a while: gone when their context ends, or with the next run where a process was killed."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.errors import EngineError
from pytest_crab.locks import locked_folder


def machine_folder() -> Path:
    """This user's folder for what processes of one machine share; private, made when missing. Raises EngineError."""
    folder = Path(tempfile.gettempdir()) / f"pytest-crab-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise EngineError(f"{folder} is not a folder of this user; remove it or set TMPDIR to a place that is yours")
    return folder


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A new folder for this purpose, locked while the context lasts and removed at its end."""
    place = _place()
    with locked_folder(place):
        folder = tempfile.TemporaryDirectory(prefix=f"{name}-", dir=place)
        lock = _locked(Path(folder.name))
    try:
        with folder:
            yield Path(folder.name)
    finally:
        os.close(lock)


@contextmanager
def abandoned() -> Iterator[list[Path]]:
    """The folders whose processes were killed, for removal; meanwhile no process can make a new one."""
    place = _place()
    locks: list[int] = []
    found = []
    with locked_folder(place):
        try:
            for folder in sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink()):
                try:
                    locks.append(_locked(folder))
                except OSError:
                    continue  # its process lives, or has removed it
                found.append(folder)
            yield found
        finally:
            for lock in locks:
                os.close(lock)


def _locked(folder: Path) -> int:
    """The handle that holds a folder's lock. Raises OSError if a process holds it already."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _place() -> Path:
    folder = machine_folder() / "scratch"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
