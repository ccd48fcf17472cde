"""A pull request as diffs on a commit of a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_crab.errors import SourceError
from pytest_crab.sources import fetcher_for
from pytest_crab.types import CommitSource, Instance, Provenance, PullRequestFacts, Source

HEAD = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-price = 1\n+price = 2\n"
REFERENCE = "--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-price = 2\n+price = 3\n"
BEFORE = "--- a/test_shop.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-tests = 1\n"


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sha of a commit of example/shop, whose mirror has a shop and its tests."""
    folder = tmp_path / "mirror" / "example" / "shop"
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text("price = 1\n")
    (folder / "test_shop.py").write_text("tests = 1\n")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return found.stdout.strip()


def instance(folder: Path, commit: str, head: str = HEAD) -> Instance:
    folder.mkdir()
    for name, text in (("before.diff", BEFORE), ("head.diff", head), ("reference.diff", REFERENCE)):
        (folder / name).write_text(text)
    source = CommitSource(
        url="https://example.invalid/example/shop", sha=commit, before="before.diff", head="head.diff",
        reference="reference.diff",
    )  # fmt: skip
    return Instance(
        id=folder.name,
        folder=str(folder),
        provenance=Provenance.INJECTED,
        repo="example/shop",
        license="MIT",
        pull_request=PullRequestFacts(number=1, title="Raise the price"),
        source=Source(commit=source),
        comments=(),
        clean=True,
    )


def test_base_head_and_reference_are_diffs_on_the_commit(tmp_path: Path, commit: str) -> None:
    made = instance(tmp_path / "shop-1", commit)
    snapshot = fetcher_for(made).fetch(made, tmp_path / "cache")
    trees = (snapshot.base, snapshot.head, snapshot.reference_tree)
    assert [snapshot.read(tree, "shop.py") for tree in trees] == [b"price = 1\n", b"price = 2\n", b"price = 3\n"]
    assert [snapshot.read(tree, "test_shop.py") for tree in trees] == [None, None, None]
    assert "test_shop" not in snapshot.pull_request_diff()


def test_a_diff_that_does_not_apply_is_named(tmp_path: Path, commit: str) -> None:
    made = instance(tmp_path / "shop-1", commit, head=REFERENCE)
    with pytest.raises(SourceError, match=r"head\.diff does not apply"):
        fetcher_for(made).fetch(made, tmp_path / "cache")
