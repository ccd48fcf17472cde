"""A worker's own disk budget: environments go after each trial, as far as no trial uses them."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.campaign.disk import DiskBudget
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import parse_size
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.inventory import inventory as inventory_of

#: A worker's own setting: what --crab-disk-budget is where pytest runs trials itself.
DISK_BUDGET = "CRAB_DISK_BUDGET"


def disk_budget() -> int | None:
    """Return the bytes that environments may take on this worker; None: there is no budget. Raises BadInput."""
    text = os.environ.get(DISK_BUDGET, "").strip()
    try:
        return parse_size(text) if text else None
    except ValueError as error:
        raise BadInput(DISK_BUDGET, [f"it is {text!r}; it should be a size such as 20G"]) from error


class WorkerDisk:
    """Keeps this worker's environments and cache within its budget; a worker without one keeps everything.

    A worker does not know which trials are to come, so the least recently used goes first. ``holds`` are those of the
    runtime, ``warn`` is given the problem of a budget that was not kept. Raises BadInput.
    """

    def __init__(self, runtime: str, cache: Path, holds: EnvironmentsInUse | None, warn: Callable[[str], None]) -> None:
        size = disk_budget()
        inventory = None if size is None else inventory_of(runtime, cache)
        self._budget = None if size is None or inventory is None else DiskBudget(size, inventory, cache)
        self._holds = holds
        self._warn = warn
        self._running: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._removing = threading.Lock()

    @contextmanager
    def trial(self, instance: str) -> Iterator[None]:
        """Let a trial of an instance run, and keep within the budget when it has ended."""
        with self._guard:
            self._running[instance] += 1
        try:
            yield
        finally:
            with self._guard:
                self._running[instance] -= 1
                if self._budget is not None and self._holds is not None and not self._running[instance]:
                    self._holds.give_up([instance])
            self._hold()

    def close(self) -> None:
        """Give back connections."""
        if self._budget is not None:
            self._budget.close()

    def _hold(self) -> None:
        with self._removing:
            try:
                if self._budget is not None:
                    self._budget.hold()
            except (CrabError, OSError) as error:  # a verdict does not depend on it
                self._warn(f"the disk budget was not kept: {error}")
