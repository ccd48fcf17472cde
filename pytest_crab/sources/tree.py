"""A pull request on a small project that lies in the instance set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab.errors import SourceError
from pytest_crab.instances.files import folder_digest, pristine
from pytest_crab.sources import folders, snapshot_store
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import Instance, TreeSource


class FolderFetcher:
    """Fetches the base from a folder; head and reference are diffs."""

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The folder's files and both diffs, by digest. Raises SourceError."""
        source = _source(instance)
        return {
            "kind": "tree",
            "history": snapshot_store.HISTORY,
            "tree": _digest(instance),
            "head": snapshot_store.digest_of_file(instance, source.head),
            "reference": snapshot_store.digest_of_file(instance, source.reference),
        }

    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Bring the trees here. Raises SourceError."""

        def build(git: Git) -> snapshot_store.Trees:
            source = _source(instance)
            folder = _folder(instance)
            base = folders.write(git, folder, pristine(folder))
            return snapshot_store.build_from_diffs(git, base, instance, source.head, source.reference)

        return snapshot_store.snapshot(cache, self.identity(instance), instance, build)


def _source(instance: Instance) -> TreeSource:
    source = instance.source.tree
    assert source is not None
    return source


def _digest(instance: Instance) -> str:
    try:
        return folder_digest(_folder(instance))
    except OSError as error:
        message = f"{instance.id}: a file of {_source(instance).path} cannot be read ({error.strerror})"
        raise SourceError(message) from error


def _folder(instance: Instance) -> Path:
    """The tree's folder: the instance's own, or one of its set, which instances may share."""
    folder = Path(instance.folder, _source(instance).path)
    if not folder.is_dir():
        message = f"{instance.id}: source.tree.path names {folder}, which is not a folder"
        raise SourceError(message)
    return folder
