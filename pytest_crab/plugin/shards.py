"""Keeps this shard's instances for --crab-shard."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_crab.plugin.items import TrialItem


class Shards:
    """Deselects the instances of other shards; ``note_empty`` is given how many they have if this one has none."""

    def __init__(self, shard: tuple[int, int], note_empty: Callable[[int], None]) -> None:
        self._index, self._count = shard
        self._note_empty = note_empty

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect after all other plugins; what is no trial runs in every shard."""
        names = sorted({item.instance.id for item in items if isinstance(item, TrialItem)})
        own = set(names[self._index - 1 :: self._count])
        if names and not own:
            self._note_empty(len(names))
        others = {item for item in items if isinstance(item, TrialItem) and item.instance.id not in own}
        if others:
            config.hook.pytest_deselected(items=[item for item in items if item in others])
            items[:] = [item for item in items if item not in others]
