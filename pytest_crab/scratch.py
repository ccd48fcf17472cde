"""Folders of this user: the cache, and those for a while, which go with their context or the next run."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.errors import EngineError
from pytest_crab.locks import locked_folder, try_lock_folder


def machine_folder() -> Path:
    """This user's folder for what processes of one machine share; private, made when missing. Raises EngineError."""
    folder = Path(tempfile.gettempdir()) / f"pytest-crab-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise EngineError(f"{folder} is not a folder of this user; remove it or set TMPDIR to a place that is yours")
    return folder


def user_cache() -> Path:
    """This user's folder for what is made again once it is gone; it need not be there."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a Path raises where there is no home
    return Path(os.environ.get("XDG_CACHE_HOME") or f"{home}/.cache", "pytest-crab").absolute()


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A new folder for this purpose, locked while the context lasts and removed at its end."""
    place = _place()
    with locked_folder(place):
        folder = tempfile.TemporaryDirectory(prefix=f"{name}-", dir=place)
        lock = try_lock_folder(Path(folder.name))
        assert lock is not None  # no other process makes or looks for folders meanwhile
    try:
        with folder:
            yield Path(folder.name)
    finally:
        os.close(lock)


@contextmanager
def abandoned_folders() -> Iterator[list[Path]]:
    """The folders whose processes were killed, for removal; meanwhile no process can make a new one."""
    place = _place()
    locks: list[int] = []
    found = []
    with locked_folder(place):
        try:
            for folder in sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink()):
                try:
                    lock = try_lock_folder(folder)
                except OSError:
                    continue  # its process has removed it
                if lock is not None:  # else its process lives
                    locks.append(lock)
                    found.append(folder)
            yield found
        finally:
            for lock in locks:
                os.close(lock)


def _place() -> Path:
    folder = machine_folder() / "scratch"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
