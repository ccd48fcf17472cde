"""The disk budget of a run: environments are removed in an order until the rest is within it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pytest_crab.errors import CrabError
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.inventory import (
    LOCAL_FOLDERS,
    Inventory,
    StoredEnvironment,
    inventory as inventory_of,
    remove_unused,
    size_of,
)

T = TypeVar("T")
#: See PendingTrials.rank.
Rank = Callable[[Iterable[str]], int]

log = logging.getLogger(__name__)


def by_repository(items: Sequence[T], repository: Callable[[T], str | None]) -> list[T]:
    """Return the items with those of a repository behind each other, repositories by their first item, else as before.

    What has no repository (None) keeps its place in the whole.
    """
    order: dict[str, list[T]] = {}
    for item in items:
        name = repository(item)
        if name is not None:
            order.setdefault(name, []).append(item)
    ordered = (item for group in order.values() for item in group)
    return [item if repository(item) is None else next(ordered) for item in items]


class PendingTrials:
    """The trials of a run that are still to come: (instance, repository) by what names each, in their order."""

    def __init__(self, trials: Mapping[Hashable, tuple[str, str]]) -> None:
        self._trials = dict(trials)
        self._instances = Counter(instance for instance, _ in self._trials.values())
        self._repositories = Counter(repository for _, repository in self._trials.values())
        self._place = {instance: place for place, instance in enumerate(self._instances)}

    def instance(self, name: Hashable) -> str | None:
        """Return the instance of a trial that is still to come."""
        trial = self._trials.get(name)
        return None if trial is None else trial[0]

    def done(self, name: Hashable) -> tuple[bool, bool]:
        """Note the end of a trial; return whether it was the last one of its instance, and of its repository."""
        trial = self._trials.pop(name, None)
        if trial is None:
            return False, False
        self._instances[trial[0]] -= 1
        self._repositories[trial[1]] -= 1
        return not self._instances[trial[0]], not self._repositories[trial[1]]

    def rank(self, instances: Iterable[str]) -> int:
        """Return how soon the run needs an environment of these instances: the more, the sooner; 0 if not again."""
        places = [self._place[instance] for instance in instances if self._instances[instance] > 0]
        return len(self._place) - min(places) if places else 0


def removal_order(kept: Iterable[StoredEnvironment], rank: Rank) -> list[StoredEnvironment]:
    """Return the environments in the order in which they go: the least recently used first.

    Those that the run still needs come last, and of these the one that it needs last comes first.
    """
    return sorted(kept, key=lambda each: (rank(each.instances), each.used, each.name))


def total(kept: Iterable[StoredEnvironment]) -> int:
    """Return the bytes that environments take together; what several share is counted once."""
    return sum({name: size for each in kept for name, size in each.layers.items()}.values())


class DiskBudget:
    """Keeps the environments of a runtime and a store's cache within ``size`` bytes; those in use stay."""

    def __init__(self, size: int, inventory: Inventory, cache: Path) -> None:
        self.size = size
        self.removed: list[str] = []
        self.taken = 0
        self._inventory = inventory
        self._cache = cache
        self._sizes: dict[Path, int] = {}

    def hold(self, rank: Rank = lambda _instances: 0) -> None:
        """Remove environments in their ``removal_order`` until the budget holds. Raises EngineError, OSError."""
        kept = self._inventory.environments()
        local = any(each.name.startswith(LOCAL_FOLDERS) for each in kept)
        rest = self._rest(without=LOCAL_FOLDERS if local else ())
        self.taken = rest + total(kept)
        for each in removal_order(kept, rank):
            if self.taken <= self.size:
                return
            if self._remove(each):
                kept.remove(each)
                self.taken = rest + total(kept)

    def close(self) -> None:
        """Give back connections."""
        self._inventory.close()

    def _remove(self, kept: StoredEnvironment) -> bool:
        if not remove_unused(self._inventory, kept):
            return False
        log.info("removed %s to keep within the disk budget", kept.name)
        self.removed.append(kept.name)
        return True

    def _rest(self, without: Sequence[str]) -> int:
        """Return the bytes of the cache but for environments; trees do not change and are measured once."""
        size = 0
        for place in self._cache.glob("*"):
            if place.name in without:
                continue
            for entry in place.glob("*"):
                if place.name not in ("snapshots", *LOCAL_FOLDERS):
                    size += size_of(entry)
                    continue
                if entry not in self._sizes:
                    self._sizes[entry] = size_of(entry)
                size += self._sizes[entry]
        return size


class DiskOfTrials:
    """Keeps environments and cache within ``size`` bytes after each trial, as far as none uses them; None: all stay.

    It does not know which trials are to come, so the least recently used goes first. ``holds`` are those of the
    runtime, ``warn`` is given the problem of a budget that was not kept.
    """

    def __init__(
        self,
        size: int | None,
        runtime: str,
        cache: Path,
        holds: EnvironmentsInUse | None,
        warn: Callable[[str], None],
    ) -> None:
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
