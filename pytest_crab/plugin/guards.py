"""Keeps files of instances from being run as tests or read as settings, most of all in a run without a reviewer.

Imports nothing heavy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_crab.plugin.paths import INSTANCE_FILE, holds_instances, instance_folder, is_data, is_locked, named_paths
from pytest_crab.pytest_files import CONFTEST, CONFTESTS_BELOW
from pytest_crab.systems import refusal


def refuse_system() -> None:
    """Raise pytest.UsageError on a system on which no trial can run, whose Python has not what a run imports."""
    reason = refusal()
    if reason is not None:
        raise pytest.UsageError(reason)


def refuse_configuration(config: pytest.Config) -> None:
    """Raise pytest.UsageError if an instance's file would configure pytest."""
    folder = config.inipath and instance_folder(config.inipath)
    if folder:
        raise pytest.UsageError(
            f"{config.inipath} would configure pytest, and it belongs to the instance {folder.name}: "
            "remove it, or name your own file with -c"
        )


def refuse_inside(path: Path) -> None:
    """Raise pytest.UsageError if a named path lies inside an instance, or a conftest.py of one would be imported."""
    folder = instance_folder(path)
    if folder is not None and path not in (folder, folder / INSTANCE_FILE):
        raise pytest.UsageError(
            f"{path} lies inside the instance {folder.name}, whose files are data: name the instance's folder instead"
        )
    # pytest imports conftest.py from a folder that is named, and from those below it that are called test*
    found_below = path.glob(CONFTESTS_BELOW) if os.path.isdir(path) else ()  # noqa: PTH112 - a Path may raise
    below = [found for found in found_below if folder or instance_folder(found)]
    for found in (*(folder.glob(CONFTEST) if folder else ()), *below):
        raise pytest.UsageError(f"{found} would be run by pytest: an instance folder holds no {CONFTEST}, remove it")


class Inert:
    """Leaves instances and sets out of a run without a reviewer, and refuses one that names nothing else."""

    def __init__(self, config: pytest.Config) -> None:
        for argument, path in named_paths(config):
            if instance_folder(path) is not None or is_locked(path, config):
                raise _no_reviewer(argument)

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Ignore folders of data."""
        folder = os.path.isdir(collection_path)  # noqa: PTH112 - a Path may raise
        return True if folder and is_data(collection_path, config) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Ignore a folder of data that testpaths names, for which pytest does not call pytest_ignore_collect."""
        if not is_data(path, parent.config):
            return None
        return EmptyCollector.from_parent(parent, path=path, name=path.name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Refuse a run that found no test and was given a set."""
        if items or session.testsfailed:
            return
        for argument, path in named_paths(session.config):
            if holds_instances(path) or any(map(holds_instances, path.glob("*/"))):
                raise _no_reviewer(argument)


class EmptyCollector(pytest.Collector):
    """A folder without tests."""

    def collect(self) -> Sequence[pytest.Item]:
        """Return nothing."""
        return ()


def _no_reviewer(argument: str) -> pytest.UsageError:
    return pytest.UsageError(
        f"{argument} holds instances, and no reviewer is named: add --reviewer=NAME, as in --reviewer=ruff"
    )
