"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

#: The permissions of files that only their owner reads, and of those that the umask decides on.
PRIVATE, SHARED = 0o600, 0o666


def write_atomically(
    path: Path, content: bytes | Iterable[bytes], mode: int = PRIVATE, *, durable: bool = True
) -> None:
    """Replace a file so that a reader sees the old content or all of the new one, even after a power cut.

    A link at ``path`` is replaced, not followed. ``mode`` is reduced by the umask. ``durable`` False leaves it to the
    system when the file reaches the disk: after a power cut it may be empty. Raises OSError, and leaves what was there
    as it was.
    """
    aside = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def publish_folder(aside: Path, place: Path) -> bool:
    """Rename a finished folder to ``place``; False if an equal one is there already, and ``aside`` stays.

    Raises OSError if it cannot be renamed for another reason.
    """
    try:
        aside.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        return False
    return True


def replace_folder(made: Path, place: Path) -> None:
    """Rename a finished folder to ``place`` and remove what was there, which is never gone before. Raises OSError."""
    old = place.with_name(f".{place.name}.{os.urandom(6).hex()}")
    try:
        place.rename(old)
    except FileNotFoundError:
        made.rename(place)
        return
    try:
        made.rename(place)
    except BaseException:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot, and the file itself is on the disk
            os.fsync(handle)
    finally:
        os.close(handle)
