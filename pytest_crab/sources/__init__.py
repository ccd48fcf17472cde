"""Where an instance's code comes from: one module per way, chosen by what instance.yaml says."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import cast

from pytest_crab.protocols import Snapshot
from pytest_crab.protocols import Source
from pytest_crab.types import Instance

#: "module:class" by the key under source in instance.yaml; imported when an instance needs it.
SOURCES = {
    "git": "pytest_crab.sources.git:GitSource",
    "sdist": "pytest_crab.sources.sdist:SdistSource",
    "tree": "pytest_crab.sources.tree:FolderSource",
}


def source_for(instance: Instance) -> Source:
    """Return what brings the instance's trees to this machine."""
    return _source(next(key for key in SOURCES if getattr(instance.source, key) is not None))


def is_fetched(instance: Instance, folder: Path) -> bool:
    """Whether the instance's trees are on this machine; nothing is fetched. Raises SourceError for a bad instance."""
    from pytest_crab.sources import trees

    return trees.find(folder, source_for(instance).identity(instance)) is not None


def drop(instance: Instance, folder: Path, snapshot: Snapshot) -> None:
    """Let the next fetch of the instance make its trees anew; a trial that uses this snapshot can go on doing so."""
    from pytest_crab.sources import trees

    trees.drop(folder, source_for(instance).identity(instance), snapshot)


@cache
def _source(key: str) -> Source:
    module, _, name = SOURCES[key].partition(":")
    return cast("Source", getattr(importlib.import_module(module), name)())
