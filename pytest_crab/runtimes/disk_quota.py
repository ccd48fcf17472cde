"""A disk quota on folders of the host that sandboxes write to, enforced by polling: no file system bounds them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_crab.beneath import FOLDER
from pytest_crab.errors import DiskShort

_MIB = 2**20

#: Bytes: what a file or folder counts at least, since a disk can also be filled with empty ones.
_LEAST = 4096

#: Folders within one another are counted down to here.
_DEEPEST = 200

#: Seconds between two looks at least; and of all the time, looking may take one part in so many.
_PAUSE, _SHARE = 0.5, 20

#: Bytes that are left free on a disk that had more before.
_RESERVE = 256 * _MIB


class DiskQuota:
    """Folders of the host that sandboxes may let grow by ``most`` MiB together, from when this was made on.

    What is written where it cannot be counted (files without a name, folders that are closed or too deep) is bounded by
    what the disk has: of that a little stays free.
    """

    def __init__(self, folders: Sequence[Path], most: int) -> None:
        self._folders = tuple(folders)
        self._next = 0.0
        self._scarce: Path | None = None
        self.full = False
        self._most = float("inf")
        self._half, self._most = most * _MIB // 2, self._count() + most * _MIB
        self._free = {folder: _free_bytes(folder) for folder in self._folders}
        self._seen = sum(self._free.values())

    def again(self) -> None:
        """A further command begins: it has a moment, as to read or remove what the one before has left."""
        self.full, self._scarce = False, None
        self._next = time.monotonic() + _PAUSE

    def is_over(self) -> bool:
        """Return whether the sandbox is to be ended; call it often, as it measures only as often as that is cheap."""
        left = {folder: _free_bytes(folder) for folder in self._folders}
        short = (folder for folder, free in left.items() if free < _RESERVE <= self._free[folder])
        self._scarce = self._scarce or next(short, None)
        hurried = self._seen - sum(left.values()) > self._half
        if not self.full and (hurried or time.monotonic() >= self._next):
            self._seen = sum(left.values())
            self.full = self._count() > self._most
        return self.full or self._scarce is not None

    def check(self) -> None:
        """Raise DiskShort if the disk was nearly full, which may have been this sandbox's doing or not."""
        if self._scarce is not None and not self.full:
            raise DiskShort(
                f"less than {_RESERVE // _MIB} MiB were left on the disk that holds {self._scarce.parent} while a "
                "sandbox wrote there, so that it was ended: make room, or set TMPDIR to a larger disk, and run again"
            )

    def _count(self) -> int:
        """The bytes that the folders take, each file once; counting ends where it is too much."""
        began, counted, seen = time.monotonic(), 0, set()
        for found in (found for folder in self._folders for found in _entries(folder)):
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                counted += max(found.st_blocks * 512, _LEAST)
                if counted > self._most:
                    break
        now = time.monotonic()
        self._next = now + max(_PAUSE, (now - began) * _SHARE)
        return counted


def _free_bytes(folder: Path) -> int:
    """The bytes that are free where a folder lies; endless where it is gone or closed."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return sys.maxsize
    return found.f_bavail * found.f_frsize


def _entries(root: Path) -> Iterator[os.stat_result]:
    """Yield the stat of each file and folder below a folder; what vanishes meanwhile or cannot be read is left out.

    Folders are opened from within the one above, so that nothing moves the way while it is gone.
    """
    above: list[tuple[int, Iterator[os.DirEntry[str]]]] = []
    try:
        with suppress(OSError):
            above.append(_open_folder(str(root), None))
        while above:
            here, entries = above[-1]
            entry = next(entries, None)
            if entry is None:
                above.pop()
                os.close(here)
                continue
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and len(above) < _DEEPEST:
                    above.append(_open_folder(entry.name, here))
    finally:
        for here, _ in above:
            os.close(here)


def _open_folder(name: str, within: int | None) -> tuple[int, Iterator[os.DirEntry[str]]]:
    """A folder, and what is in it. Raises OSError."""
    here = os.open(name, FOLDER, dir_fd=within)
    try:
        with os.scandir(here) as entries:
            return here, iter(list(entries))
    except BaseException:
        os.close(here)
        raise
