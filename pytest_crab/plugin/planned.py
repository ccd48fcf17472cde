"""The items of a run by their ids, also those that only workers of pytest-xdist collect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_crab.errors import CrabError
from pytest_crab.plugin.items import InstanceItem, Planned
from pytest_crab.plugin.paths import named_path
from pytest_crab.types import Instance, TrialId

if TYPE_CHECKING:
    import pytest


class PlannedNodes:
    """The items of these contestants; what an item of a worker stands for is found out when it matters."""

    def __init__(self, contestants: Collection[str], config: pytest.Config) -> None:
        self._contestants = contestants
        self._config = config
        self._expected: dict[str, Planned | None] = {}
        self._loaded: dict[str, Sequence[Instance]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._expected)

    def add_items(self, items: Iterable[InstanceItem]) -> None:
        """Add items that this process has collected."""
        self._expected.update((item.nodeid, item.planned) for item in items)

    def add_nodes(self, nodes: Iterable[str]) -> None:
        """Add all items of a worker by their ids; those of other contestants stand for nothing here."""
        for node in nodes:
            self._expected.setdefault(node, None)

    def count(self) -> int:
        """Return how many items are of these contestants."""
        return sum(bool(planned or self._named(node)) for node, planned in self._expected.items())

    def find(self, node: str) -> Planned | None:
        """Return what the item of this id is to run; None for any other item."""
        planned = self._expected.get(node)
        if planned is not None:
            return planned
        trial = self._named(node)
        if trial is None:
            return None
        path, *names = node.split("::")
        for instance in self._instances(path):
            if len(names) == 1 or names[0] == instance.id:
                return Planned(instance, TrialId(instance.id, trial.reviewer, trial.repeat))
        return None

    def _named(self, node: str) -> TrialId | None:
        """Return the trial that an item's id names, by the path of its file; None if its end is no contestant."""
        path, *names = node.split("::")
        if not names or not names[-1]:
            return None
        trial = TrialId.parse(f"{path}::{names[-1]}")
        return trial if trial.reviewer in self._contestants else None

    def _instances(self, path: str) -> Sequence[Instance]:
        """Return the instances of a file that another process collected, read once."""
        if path not in self._loaded:
            self._loaded[path] = self._load(path)
        return self._loaded[path]

    def _load(self, path: str) -> Sequence[Instance]:
        # ids of files outside the rootdir begin at the named path
        bases = [self._config.rootpath, *(named_path(self._config, argument) for argument in self._config.args)]
        file = next((base / path for base in bases if (base / path).is_file()), None)
        try:
            hook = self._config.hook.pytest_crab_load_instances
            return hook(path=file, config=self._config) or () if file else ()
        except CrabError:
            return ()  # a collection error has said so
