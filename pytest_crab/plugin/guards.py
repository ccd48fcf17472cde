"""Refuses files of instances that pytest would run or read as settings. Imports nothing heavy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_crab.plugin.paths import INSTANCE_FILE
from pytest_crab.plugin.paths import instance_folder


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
    found_below = path.glob("test*/conftest.py") if os.path.isdir(path) else ()  # noqa: PTH112 - a Path may raise
    below = [found for found in found_below if folder or instance_folder(found)]
    for found in (*(folder.glob("conftest.py") if folder else ()), *below):
        raise pytest.UsageError(f"{found} would be run by pytest: an instance folder holds no conftest.py, remove it")
