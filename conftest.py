"""Settings of this repository's own test runs."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest_plugins = ["pytester"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors for ``-n auto``, since many tests wait: for containers, clients and timers."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let workers that have nothing left take tests of others: single tests take minutes, most take milliseconds."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
