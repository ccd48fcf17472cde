"""A piece of code is a pull request that adds one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.errors import SourceError
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Comment, Instance, Provenance, PullRequestFacts, SnippetSource, Source


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    folder = tmp_path / "one-1"
    folder.mkdir()
    (folder / "head.txt").write_text("one\ntwo\n")
    (folder / "reference.txt").write_text("one\n2\n")
    return Instance(
        id="one-1",
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo="owner/name",
        license="MIT",
        pull_request=PullRequestFacts(number=1, title="One"),
        source=Source(snippet=SnippetSource(head="head.txt", reference="reference.txt")),
        comments=(Comment(id="c0", path="src/one.txt", lines=(2, 2), body="Write a digit."),),
    )


def test_the_file_is_added_at_head_and_resolved_in_the_reference(instance: Instance, tmp_path: Path) -> None:
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    assert snapshot.read(snapshot.head_tree, "src/one.txt") == b"one\ntwo\n"
    assert snapshot.read(snapshot.reference_tree, "src/one.txt") == b"one\n2\n"
    diff = snapshot.pull_request_diff()
    assert "new file mode" in diff
    assert "+two" in diff
    assert [change.path for change in snapshot.changes(snapshot.reference_tree)] == ["src/one.txt"]


def test_another_content_is_another_snapshot(instance: Instance, tmp_path: Path) -> None:
    fetcher = fetcher_for(instance)
    before = fetcher.identity(instance)
    Path(instance.folder, "reference.txt").write_text("one\nTWO\n")
    assert fetcher.identity(instance) != before
    Path(instance.folder, "head.txt").unlink()
    with pytest.raises(SourceError, match=r"head\.txt"):
        fetcher.identity(instance)
