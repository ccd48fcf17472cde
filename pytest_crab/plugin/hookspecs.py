"""The hooks that pytest-crab adds; conftest.py files and plugins implement them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from junitparser import TestSuite

    from pytest_crab.adapters import AdapterSpec
    from pytest_crab.option_table import Option
    from pytest_crab.plugin.kinds import Kind, Run
    from pytest_crab.results.summary import Summary
    from pytest_crab.types import Instance, Review, Trial


@pytest.hookspec(firstresult=True)
def pytest_crab_load_instances(path: Path, config: pytest.Config) -> Sequence[Instance] | None:
    """Load the instances that the file ``path`` stands for; runs in every worker. None: it stands for none."""


@pytest.hookspec(firstresult=True)
def pytest_crab_make_reviewer(name: str, config: pytest.Config) -> AdapterSpec | None:
    """Say how to build the reviewer ``name``; runs in every process. None: others, or what is built in, answer."""


@pytest.hookspec(firstresult=True)
def pytest_crab_make_agent(name: str, config: pytest.Config) -> AdapterSpec | None:
    """Say how to build the agent ``name``; runs in every process. None: others, or what is built in, answer."""


@pytest.hookspec(firstresult=True)
def pytest_crab_make_runtime(name: str, config: pytest.Config) -> AdapterSpec | None:
    """Say how to build the runtime ``name``; runs in every process. None: others, or what is built in, answer."""


@pytest.hookspec
def pytest_crab_options() -> Sequence[Option] | None:
    """Return options that the plugin registered by options.register_long; runs in every process. None: it has none."""


@pytest.hookspec
def pytest_crab_make_kind(run: Run, config: pytest.Config) -> Kind | None:
    """Return the kind of contestants that this run has besides reviewers; runs in every process. None: it has none."""


@pytest.hookspec
def pytest_crab_make_items(instance: Instance, parent: pytest.Collector) -> Iterable[pytest.Item] | None:
    """Return the items of contestants of another kind; runs in every process that collects. None: there are none."""


@pytest.hookspec
def pytest_crab_junit_suites(misses: str, config: pytest.Config) -> Iterable[TestSuite] | None:
    """Return suites of contestants of another kind for the JUnit file; runs in the controller. None: there are none.

    ``misses`` is what a miss becomes in it: see show.junit.
    """


@pytest.hookspec
def pytest_crab_review_done(instance: Instance, reviewer: str, review: Review, config: pytest.Config) -> None:
    """Hear of a review that was just made, not of a stored one; runs in the worker that made it."""


@pytest.hookspec
def pytest_crab_trial_done(trial: Trial, config: pytest.Config) -> None:
    """Hear of every finished trial in the order of reporting; runs in the controller."""


@pytest.hookspec
def pytest_crab_gate(summary: Summary, config: pytest.Config) -> str | None:
    """Return one sentence to fail the run under a gate option; runs in the controller. None: nothing to object to."""


@pytest.hookspec
def pytest_crab_summary_lines(summary: Summary, config: pytest.Config) -> Sequence[str] | None:
    """Return lines to print above the tables; runs in the controller. None: nothing to add."""
