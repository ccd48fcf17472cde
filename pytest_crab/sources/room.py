"""A look at the disk where git failed: what git itself says of it holds names that a contestant chose."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from pytest_crab.errors import SourceError

#: The errors of a machine that is full or fails; whoever left what is read or written is not to blame.
MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
#: Bytes: what git writes beside the contents.
_MORE = 1 << 20


def require_room(*folders: Path, size: int) -> None:
    """Raise SourceError unless a file of ``size`` bytes and a little more can be written in each folder."""
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"\0" * (size + _MORE))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SourceError(f"git cannot work here: {folder} cannot be written ({error.strerror})") from error
