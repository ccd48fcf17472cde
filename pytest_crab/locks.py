"""Locks between processes, which are waited for and end with their holder, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that is there; nothing is left in it. Raises OSError."""
    with _held(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), fcntl.LOCK_EX):
        yield


@contextmanager
def locked_file(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold the lock of a file, which is made where it is not there. Raises OSError.

    ``kind`` is fcntl.LOCK_EX or, for as many as like to hold it at a time, fcntl.LOCK_SH.
    """
    with _held(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), kind):
        yield


@contextmanager
def _held(handle: int, kind: int) -> Iterator[None]:
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)
