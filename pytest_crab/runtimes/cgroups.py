"""Limits around a process tree of this machine, by control groups where they may be made (version 1 or 2)."""

from __future__ import annotations

import errno
import os
import re
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.errors import EngineError
from pytest_crab.protocols import Limits
from pytest_crab.runtimes import run_lock

ROOT = Path("/sys/fs/cgroup")
_MIB = 2**20
_NAME = re.compile(r"pytest-crab-([0-9a-f]{16})-[0-9a-f]{16}-[0-9a-f]{8}")
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD = 100_000


def counts_kills(counters: str) -> bool:
    """Return whether a group's counters say that the kernel killed anything in it for memory."""
    return re.search(r"^oom_kill [1-9]", counters, re.MULTILINE) is not None


class Cgroup:
    """One group: ``folders`` are its places by controller; a process joins by writing 0 to each ``cgroup.procs``."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.folders = folders

    @property
    def places(self) -> list[Path]:
        """The group's folders, each once."""
        return list(dict.fromkeys(self.folders.values()))

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed anything in this group for memory."""
        folder = self.folders["memory"]
        for name in ("memory.oom_control", "memory.events"):
            if (folder / name).exists():
                return counts_kills((folder / name).read_text())
        return False

    def kill(self) -> None:
        """Kill whatever is in here until nothing is. Raises EngineError if something stays."""
        for pause in (0.0, 0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            time.sleep(pause)
            found = self.processes()
            if not found:
                return
            for process in found:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        raise EngineError(f"processes of a sandbox cannot be killed: {sorted(self.processes())}")

    def processes(self) -> set[int]:
        """The ids of the processes in here."""
        found: set[int] = set()
        for place in self.places:
            try:
                found.update(int(line) for line in (place / "cgroup.procs").read_text().split())
            except OSError as error:  # ENODEV: removed between the opening and the reading of it
                if error.errno not in (errno.ENOENT, errno.ENODEV):
                    raise
        return found

    def remove(self) -> None:
        """Kill what is in here, and remove the group."""
        self.kill()
        for place in self.places:
            _remove(place)


@contextmanager
def new_group(run: str, limits: Limits) -> Iterator[Cgroup | None]:
    """A group of its own with these limits, gone when the context ends; None where none can be made."""
    group = _make(f"pytest-crab-{run}-{run_lock.machine_id()}-{uuid.uuid4().hex[:8]}", limits)
    if group is None:
        yield None
        return
    try:
        yield group
    finally:
        group.remove()


def available() -> bool:
    """Return whether this user can make control groups here."""
    return bool(_places())


def sweep() -> list[str]:
    """Remove the groups of dead runs, with the processes in them; their names."""
    removed = []
    for place in set(_places().values()):
        for folder in place.glob(f"pytest-crab-*-{run_lock.machine_id()}-*"):
            match = _NAME.fullmatch(folder.name)
            if match and run_lock.is_dead(match.group(1)):
                Cgroup({"memory": folder}).remove()
                removed.append(folder.name)
    return sorted(set(removed))


def _places() -> dict[str, Path]:
    """The folder of each controller in which groups may be made; empty unless memory and pids can be limited."""
    places: dict[str, Path] = {}
    if (ROOT / "cgroup.controllers").exists():
        delegated = (ROOT / "cgroup.subtree_control").read_text().split()
        places.update({name: ROOT for name in _CONTROLLERS if name in delegated})
    else:
        places.update({name: ROOT / name for name in _CONTROLLERS if (ROOT / name / "cgroup.procs").exists()})
    usable = {name: place for name, place in places.items() if os.access(place, os.W_OK)}
    return usable if {"memory", "pids"} <= set(usable) else {}


def _make(name: str, limits: Limits) -> Cgroup | None:
    places = _places()
    if not places:
        return None
    group = Cgroup({controller: place / name for controller, place in places.items()})
    values = {
        "memory.limit_in_bytes": limits.memory * _MIB,
        "memory.memsw.limit_in_bytes": limits.memory * _MIB,
        "memory.max": limits.memory * _MIB,
        "memory.swap.max": 0,
        "pids.max": limits.processes,
        "cpu.cfs_period_us": _PERIOD,
        "cpu.cfs_quota_us": int(limits.cpus * _PERIOD),
        "cpu.max": f"{int(limits.cpus * _PERIOD)} {_PERIOD}",
    }
    try:
        for place in group.places:
            place.mkdir()
            for file, value in values.items():
                if (place / file).exists():
                    (place / file).write_text(str(value))
    except OSError as error:
        for place in group.places:
            _remove(place)
        raise EngineError(f"a control group could not be made for a sandbox: {error}", passing=True) from error
    return group


def _remove(place: Path) -> None:
    for pause in (0.0, 0.005, 0.02, 0.1, 0.5, 2.0, 5.0):
        time.sleep(pause)
        try:
            place.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            continue
        return
    raise EngineError(f"the control group {place} cannot be removed")
