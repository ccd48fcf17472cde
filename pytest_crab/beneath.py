"""The way to a file of a tree that foreign code has written: each folder is opened from within the one above it.

So no link on the way is followed, whoever lays it and whenever.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def parent(root: Path, path: str, *, make: bool = False) -> Iterator[tuple[int, str] | None]:
    """The open folder that holds ``path``, and its name there; None where a folder on the way is missing or none.

    With ``make`` such a folder is made, in the place of whatever lies there. Raises ValueError for a path that leads
    elsewhere.
    """
    *above, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*above, name)):
        raise ValueError(f"{path!r} is no path below a folder")
    here = os.open(root, FOLDER)
    try:
        for part in above:
            below = _open_folder(here, part, make=make)
            if below is None:
                yield None
                return
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _open_folder(here: int, name: str, *, make: bool) -> int | None:
    try:
        return os.open(name, FOLDER, dir_fd=here)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        if not make:
            return None
        if error.errno != errno.ENOENT:
            os.unlink(name, dir_fd=here)
    os.mkdir(name, dir_fd=here)
    return os.open(name, FOLDER, dir_fd=here)
