"""Locks between threads and processes: flock on a file or folder, which ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDWR | os.O_CLOEXEC
_POLL_SECONDS = 0.02


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that is there; nothing is left in it. Raises OSError."""
    handle = os.open(folder, _FOLDER)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_file(path: Path, kind: int = fcntl.LOCK_EX, check: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a file, which is made where it is not there. Raises OSError.

    ``kind`` is fcntl.LOCK_EX or, for as many as like to hold it at a time, fcntl.LOCK_SH. ``check`` is called again and
    again while another holds it, and ends the wait by raising.
    """
    handle = lock_file(path, kind, check)
    try:
        yield
    finally:
        os.close(handle)


def lock_file(path: Path, kind: int = fcntl.LOCK_EX, check: Callable[[], None] | None = None) -> int:
    """Return a handle that holds a file's lock until it is closed; waits for it as ``locked_file`` does."""
    while True:
        handle = _wait(path, kind) if check is None else _poll(path, kind, check)
        if _is_at(handle, path):
            return handle
        os.close(handle)  # its holder removed the file


def try_lock_file(path: Path, kind: int = fcntl.LOCK_EX, *, create: bool = True) -> int | None:
    """Return a handle that holds a file's lock until it is closed; None if another holds it.

    Raises OSError, and FileNotFoundError if there is no file and none is to be made.
    """
    return _try(os.open(path, _FILE | (os.O_CREAT if create else 0), 0o600), kind)


def try_lock_folder(folder: Path) -> int | None:
    """Return a handle that holds a folder's lock until it is closed; None if another holds it. Raises OSError."""
    return _try(os.open(folder, _FOLDER), fcntl.LOCK_EX)


def _wait(path: Path, kind: int) -> int:
    handle = os.open(path, _FILE | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, kind)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _poll(path: Path, kind: int, check: Callable[[], None]) -> int:
    while (handle := try_lock_file(path, kind)) is None:
        check()
        time.sleep(_POLL_SECONDS)
    return handle


def _try(handle: int, kind: int) -> int | None:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
