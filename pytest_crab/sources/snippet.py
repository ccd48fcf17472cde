"""A pull request that adds one file: a piece of code without its repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab.instances.files import REGULAR, file_bytes
from pytest_crab.sources import snapshot_store
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import Instance, SnippetSource


class SnippetFetcher:
    """Makes the trees of one file: the base is empty, head and reference hold the file under its comment's path."""

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The file's path and both contents, by digest. Raises SourceError."""
        source = _source(instance)
        return {
            "kind": "snippet",
            "history": snapshot_store.HISTORY,
            "path": instance.comments[0].path,
            "head": snapshot_store.digest_of_file(instance, source.head),
            "reference": snapshot_store.digest_of_file(instance, source.reference),
        }

    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Make the trees. Raises SourceError."""
        source, path = _source(instance), instance.comments[0].path

        def build(git: Git) -> snapshot_store.Trees:
            with git.with_index(None) as indexed:
                base = indexed.line("write-tree")
            head, reference = (_tree(git, path, file_bytes(instance, name)) for name in (source.head, source.reference))
            return snapshot_store.Trees(git, base, head, reference)

        return snapshot_store.snapshot(cache, self.identity(instance), instance, build)


def _tree(git: Git, path: str, content: bytes) -> str:
    """Return the tree that holds one file and nothing else."""
    blob = git.line("hash-object", "-w", "--stdin", stdin=content)
    with git.with_index(None) as indexed:
        indexed.line("update-index", "--add", "--cacheinfo", f"{REGULAR},{blob},{path}")
        return indexed.line("write-tree")


def _source(instance: Instance) -> SnippetSource:
    source = instance.source.snippet
    assert source is not None
    return source
