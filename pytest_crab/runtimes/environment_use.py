"""The environments in use: every run notes those that it takes, so that no other removes them meanwhile."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.locks import locked_file
from pytest_crab.runtimes import run_lock
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.scratch import machine_folder

#: How much of an environment's key names it here, in images and in folders.
LENGTH = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """This machine's record of an environment."""

    #: The last use, in seconds since 1970.
    used: float
    #: The instances that took it.
    instances: frozenset[str]


class EnvironmentsInUse:
    """The environments that one run uses, by the instance that they are for; all are given up when the run ends."""

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._taken: dict[str, set[str]] = {}
        self._guard = threading.Lock()

    def take(self, instance: str, key: str) -> None:
        """Note that this run uses an environment, before looking whether it is there. Raises EngineError, OSError."""
        key = key[:LENGTH]
        with self._guard:
            if key in self._taken.get(instance, ()):
                return
            with _gate(fcntl.LOCK_SH):
                mark = _mark(self._run.folder, key)
                mark.parent.mkdir(exist_ok=True)
                mark.touch()
                _note(key, instance)
            self._taken.setdefault(instance, set()).add(key)

    def give_up(self, instances: Iterable[str]) -> None:
        """Use the environments of these instances no more; what another instance of this run uses stays in use."""
        with self._guard:
            self._unmark(set().union(*(self._taken.pop(instance, set()) for instance in instances)))

    def release(self, instance: str, keys: Iterable[str]) -> None:
        """Use these environments of an instance no more; what another instance of this run uses stays in use."""
        with self._guard:
            own = self._taken.get(instance, set())
            given = own & {key[:LENGTH] for key in keys}
            own -= given
            self._unmark(given)

    def _unmark(self, given: set[str]) -> None:
        """Take the marks of those of these environments that no instance of this run uses."""
        for key in given.difference(*self._taken.values()):
            _mark(self._run.folder, key).unlink(missing_ok=True)


def record_of(key: str) -> Record | None:
    """Return this machine's record of an environment; None if no run of this user has taken it."""
    path = _record(key)
    try:
        return Record(used=path.stat().st_mtime, instances=frozenset(path.read_text(encoding="ascii").split()))
    except FileNotFoundError:
        return None


@contextmanager
def removing(key: str) -> Iterator[bool]:
    """Yield whether no living run of this user uses the environment; no run can take any meanwhile."""
    with _gate(fcntl.LOCK_EX):
        yield not any(_mark(folder, key[:LENGTH]).exists() for folder in run_lock.living())


def forget(key: str) -> None:
    """Remember nothing of an environment that is gone."""
    _record(key).unlink(missing_ok=True)


def _note(key: str, instance: str) -> None:
    """Add an instance to the environment's record, whose age is that of the last use."""
    path = _record(key)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    known = path.read_text(encoding="ascii").split() if path.exists() else []
    if instance in known:
        os.utime(path)
        return
    with path.open("a", encoding="ascii") as file:
        file.write(f"{instance}\n")


def _record(key: str) -> Path:
    return machine_folder() / "environments" / key[:LENGTH]


def _mark(run: Path, key: str) -> Path:
    return run / "uses" / key


@contextmanager
def _gate(kind: int) -> Iterator[None]:
    with locked_file(machine_folder() / "environments.lock", kind):
        yield
