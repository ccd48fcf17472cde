"""The runs of this user on this machine: each holds a locked file, so that leftovers of a dead run are recognised."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.harness.inside import tree
from pytest_crab.locks import lock_file, locked_file, try_lock_file
from pytest_crab.scratch import abandoned_folders, machine_folder
from pytest_crab.serialization import digest

_NAME = re.compile(r"[0-9a-f]{16}")


def machine_id() -> str:
    """Return an id of this machine and its folder of locks, apart from others that use the same engine.

    Whether a run lives is known only to those who share its folder of locks, which TMPDIR decides.
    """
    try:
        seed = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        seed = ""
    return digest([seed, platform.node(), str(machine_folder())])[:16]


class RunFolder:
    """One run: its id, and a folder for its scratch; both count as dead once this object's process has ended."""

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex[:16]
        self._lock: int | None = None
        self._guard = threading.Lock()

    @property
    def folder(self) -> Path:
        """The run's own folder; from the first call on the run is known to live."""
        with self._guard:
            if self._lock is None:
                self._lock = lock_file(_runs() / f"{self.id}.lock")
                (_runs() / self.id).mkdir(mode=0o755)
        return _runs() / self.id

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder that is removed when the context ends."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield folder
        finally:
            remove_folder(folder)

    def close(self) -> None:
        """Remove the run's folder and its lock."""
        with self._guard:
            if self._lock is None:
                return
            remove_folder(_runs() / self.id)
            (_runs() / f"{self.id}.lock").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def is_dead(run: str) -> bool:
    """Return whether no process holds this run's lock any more."""
    if not _NAME.fullmatch(run):
        return False
    lock = _runs() / f"{run}.lock"
    descriptor = _take(lock)
    if descriptor is None:
        return not lock.exists()
    os.close(descriptor)
    return True


def sweep_folders() -> list[str]:
    """Remove the folders and locks of dead runs, and the scratch of other processes that were killed; their names.

    Of two sweepers one does it, and the other waits for that.
    """
    with locked_file(machine_folder() / "sweep.lock"):
        with abandoned_folders() as folders:
            for folder in folders:
                remove_folder(folder)
        runs = [lock.stem for lock in sorted(_runs().glob("*.lock")) if _sweep(lock)]
        return [*runs, *(folder.name for folder in folders)]


def _sweep(lock: Path) -> bool:
    """Remove a run's folder and lock if it is dead; return True if there was a folder."""
    descriptor = _take(lock)
    if descriptor is None:
        return False
    try:  # the lock is held meanwhile, so that no other process locks a file that is being removed
        there = lock.with_suffix("").exists()
        remove_folder(lock.with_suffix(""))
        lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    return there


def any_alive() -> bool:
    """Return whether a run of this user lives on this machine."""
    return any(not is_dead(lock.stem) for lock in _runs().glob("*.lock"))


def living() -> Iterator[Path]:
    """Yield the folders of the runs of this user that live on this machine."""
    return (lock.with_suffix("") for lock in _runs().glob("*.lock") if not is_dead(lock.stem))


def _take(lock: Path) -> int | None:
    """The lock file of a run, held if its run does not hold it; None otherwise.

    It is shared with others that look, since none of them should take another for the run.
    """
    try:
        return try_lock_file(lock, fcntl.LOCK_SH, create=False)
    except FileNotFoundError:
        return None


def remove_folder(folder: Path) -> None:
    """Remove a folder that foreign code may have filled, whatever permissions and however many levels it has made."""
    if folder.is_dir() and not folder.is_symlink():
        tree.remove(str(folder))  # type: ignore[no-untyped-call]


def _runs() -> Path:
    folder = machine_folder() / "runs"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
