"""A pull request on a commit of a public repository, as diffs in the instance's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab.sources import snapshot_store
from pytest_crab.sources.git import GitFetcher, trees_of
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import CommitSource, Instance


class CommitFetcher(GitFetcher):
    """Fetches the commit; base, head and reference are diffs, one on the other."""

    @override
    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The repository, the commit, and the diffs by digest. Raises SourceError."""
        facts = _source(instance)
        digests = {key: snapshot_store.digest_of_file(instance, name) for key, name in instance.source.diffs.items()}
        return {"kind": "commit", "history": snapshot_store.HISTORY, "url": facts.url, "sha": facts.sha, **digests}

    @override
    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Bring the trees here. Raises SourceUnreachable or SourceError."""

        def build(_: Git) -> snapshot_store.Trees:
            source = _source(instance)
            git = self.fetch_commits(instance, cache)
            tree = trees_of(git, instance)[0]
            base = tree if source.before is None else snapshot_store.apply_named(git, tree, instance, source.before)
            return snapshot_store.build_from_diffs(git, base, instance, source.head, source.reference)

        return snapshot_store.snapshot(cache, self.identity(instance), instance, build)


def _source(instance: Instance) -> CommitSource:
    source = instance.source.commit
    assert source is not None
    return source
