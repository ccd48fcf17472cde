"""The token of a run that has not come to its end: under it, steps without an identity are kept, and found again."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from pytest_crab.atomic import write_atomically
from pytest_crab.errors import StoreError
from pytest_crab.locks import try_lock_file
from pytest_crab.store.files import sentence

NAME = "open-run"


def token_of(folder: Path) -> str | None:
    """The token that a run left in a store's folder, if any, without taking it over. Raises StoreError."""
    path = folder / NAME
    try:
        return path.read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(sentence("cannot be read", path, error)) from error


class OpenRun:
    """The token in a store's folder; a killed run's is taken over, a living run's is not.

    The file's lock is held until ``close`` or the process's end. Of two runs on one store the second has a token of its
    own that is not kept, so it neither uses the first one's steps nor ends its token. Raises StoreError.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._take(folder)
        except OSError as error:
            raise StoreError(sentence("cannot be written", Path(error.filename or folder), error)) from error

    def _take(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / NAME
        self.token = uuid.uuid4().hex
        self._lock = try_lock_file(folder / f"{NAME}.lock")
        if self._lock is None:
            return
        self.token = token_of(folder) or self.token  # not before, when it was a living run's that may end meanwhile
        write_atomically(self._path, self.token.encode())

    def close(self, *, complete: bool) -> None:
        """Give the token back; ``complete``: every trial came to its end, so that no other run takes it over."""
        if self._lock is None:
            return
        if complete:
            self._path.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None
