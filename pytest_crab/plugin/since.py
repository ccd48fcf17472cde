"""Leaves out instances that were merged too early for --crab-since."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from pytest_crab.instances.dates import why_not_since
from pytest_crab.types import Instance


class Since:
    """Deselects items before other plugins do."""

    def __init__(self, since: date) -> None:
        self.since = since
        self.left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect instances that do not count as merged since the day; what is no trial stays."""
        reasons = {item: self._why_not(item) for item in items}
        left_out = [item for item in items if reasons[item] is not None]
        self.left_out = Counter(reason for reason in reasons.values() if reason is not None)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if reasons[item] is None]

    def pytest_report_collectionfinish(self) -> list[str]:
        """Print how many items were left out, and why."""
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.left_out.items()))
        return [f"crab: since {self.since}, left out: {counts}"] if counts else []

    def _why_not(self, item: pytest.Item) -> str | None:
        instance = getattr(item, "instance", None)
        return why_not_since(instance, self.since) if isinstance(instance, Instance) else None
