"""Fetch the code of instances: one fetcher for each key under ``source`` in instance.yaml."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import cast

from pytest_crab.protocols import Fetcher, Snapshot
from pytest_crab.types import Instance

#: "module:class" by the key under source in instance.yaml; imported when an instance needs it.
FETCHERS = {
    "commit": "pytest_crab.sources.commit:CommitFetcher",
    "git": "pytest_crab.sources.git:GitFetcher",
    "sdist": "pytest_crab.sources.sdist:SdistFetcher",
    "snippet": "pytest_crab.sources.snippet:SnippetFetcher",
    "tree": "pytest_crab.sources.tree:FolderFetcher",
}

#: The kinds whose trees are made of files of the set, without a network.
_IN_SETS = ("snippet", "tree")


def fetcher_for(instance: Instance) -> Fetcher:
    """Return the fetcher of the instance's kind of source."""
    return _fetcher(instance.source.key)


def is_fetched(instance: Instance, folder: Path) -> bool:
    """Return whether the instance's trees are on this machine, without fetching. Raises SourceError."""
    from pytest_crab.sources import snapshot_store

    return snapshot_store.find(folder, fetcher_for(instance).identity(instance)) is not None


def is_at_hand(instance: Instance, folder: Path) -> bool:
    """Return whether the instance's trees are on this machine, or in its set. Raises SourceError."""
    return instance.source.key in _IN_SETS or is_fetched(instance, folder)


def drop(instance: Instance, folder: Path, snapshot: Snapshot) -> None:
    """Let the next fetch of the instance make its trees anew; a trial that uses this snapshot can go on doing so."""
    from pytest_crab.sources import snapshot_store

    snapshot_store.drop(folder, fetcher_for(instance).identity(instance), snapshot)


@cache
def _fetcher(key: str) -> Fetcher:
    module, _, name = FETCHERS[key].partition(":")
    return cast("Fetcher", getattr(importlib.import_module(module), name)())
