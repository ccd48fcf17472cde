"""Failures that are no item's of an instance, which every gate counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class ForeignFailures:
    """Counts what failed and is no item's of an instance: no gate forgives it."""

    foreign_failures = 0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be loaded."""
        self.foreign_failures += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that is not ours."""
        self.foreign_failures += report.failed and not hasattr(report, "crab_item")
