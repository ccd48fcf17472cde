"""Selects instances by day of merge (--crab-since), by errors of their oracles, and those of this shard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from datetime import date
from typing import Any

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.instances.dates import why_not_since
from pytest_crab.instances.oracle_errors import is_measured, why_over
from pytest_crab.plugin.items import InstanceItem

#: The key in the output of a worker of pytest-xdist of ``Shards.elsewhere``.
_ELSEWHERE = "crab_empty_shard"


class Since:
    """Deselects, before other plugins do, the items of instances that do not count as merged since the day."""

    def __init__(self, since: date) -> None:
        self._since = since
        self._left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect them; what is no trial stays."""
        reasons = {item: why_not_since(item.instance, self._since) for item in items if isinstance(item, InstanceItem)}
        self._left_out = Counter(reason for reason in reasons.values() if reason is not None)
        deselect(config, items, {item for item, reason in reasons.items() if reason is not None})

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print how many items were left out, and why."""
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self._left_out.items()))
        return [f"crab: since {self._since}, left out: {counts}"] if counts else []


class SoundOracles:
    """Deselects the items of instances whose oracles were seen to err more often than a limit, a rate."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._left_out: Counter[str] = Counter()
        self._unmeasured = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect them; what is no trial, and what was not measured, stays."""
        instances = {item.instance.id: item.instance for item in items if isinstance(item, InstanceItem)}
        try:
            reasons = {name: why_over(instance, self._limit) for name, instance in instances.items()}
            measured = {name for name, instance in instances.items() if is_measured(instance)}
        except BadInput as error:
            raise pytest.UsageError(f"--crab-max-oracle-error: {error}") from error
        self._left_out = Counter(reason for reason in reasons.values() if reason is not None)
        self._unmeasured = sum(
            name not in measured and bool(instance.with_oracles) for name, instance in instances.items()
        )
        over = {name for name, reason in reasons.items() if reason is not None}
        deselect(config, items, {item for item in items if isinstance(item, InstanceItem) and item.instance.id in over})

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print how many instances are not counted, and how many are though nothing is known of their oracles."""
        lines = [
            f"crab: {format_count(count, 'instance')} {reason} not counted"
            for reason, count in sorted(self._left_out.items())
        ]
        if self._unmeasured:
            told = format_count(self._unmeasured, "instance")
            lines.append(
                f"crab: {told} counted without a measured oracle error; pytest-crab set error-rates measures it"
            )
        return lines


class Shards:
    """Deselects the items of other shards; ``elsewhere`` is the number of their instances if this one has none."""

    def __init__(self, shard: tuple[int, int]) -> None:
        self._index, self._count = shard
        self.elsewhere = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect after all other plugins; what is no trial runs in every shard."""
        instances = {item: item.instance.id for item in items if isinstance(item, InstanceItem)}
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
