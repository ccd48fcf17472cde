"""Selects instances: those merged since a day (--crab-since), and those of this shard (--crab-shard)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from datetime import date
from typing import Any

import pytest

from pytest_crab.instances.dates import why_not_since
from pytest_crab.plugin.items import TrialItem

#: The key in the output of a worker of pytest-xdist of ``Shards.elsewhere``.
_ELSEWHERE = "crab_empty_shard"


class Since:
    """Deselects, before other plugins do, the trials of instances that do not count as merged since the day."""

    def __init__(self, since: date) -> None:
        self._since = since
        self._left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect them; what is no trial stays."""
        reasons = {item: why_not_since(item.instance, self._since) for item in items if isinstance(item, TrialItem)}
        self._left_out = Counter(reason for reason in reasons.values() if reason is not None)
        deselect(config, items, {item for item, reason in reasons.items() if reason is not None})

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print how many items were left out, and why."""
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self._left_out.items()))
        return [f"crab: since {self._since}, left out: {counts}"] if counts else []


class Shards:
    """Deselects the trials of other shards; ``elsewhere`` is the number of their instances if this one has none."""

    def __init__(self, shard: tuple[int, int]) -> None:
        self._index, self._count = shard
        self.elsewhere = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect after all other plugins; what is no trial runs in every shard."""
        instances = {item: item.instance.id for item in items if isinstance(item, TrialItem)}
        names = sorted(set(instances.values()))
        own = set(names[self._index - 1 :: self._count])
        if names and not own:
            self.elsewhere = len(names)
            getattr(config, "workeroutput", {})[_ELSEWHERE] = len(names)
        deselect(config, items, {item for item, name in instances.items() if name not in own})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over a worker's ``elsewhere``, since only workers collect."""
        self.elsewhere = getattr(node, "workeroutput", {}).get(_ELSEWHERE, self.elsewhere)


def deselect(config: pytest.Config, items: list[pytest.Item], others: Container[pytest.Item]) -> None:
    """Take these items out, and tell pytest."""
    deselected = [item for item in items if item in others]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in others]
