"""Settings of this repository's own test runs."""

from __future__ import annotations

import os

import pytest

pytest_plugins = ["pytester"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are processors for ``-n auto``, since many tests wait: for containers, clients and timers."""
    return len(os.sched_getaffinity(0)) + 2
