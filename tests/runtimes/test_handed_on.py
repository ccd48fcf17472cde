"""Caches that an environment leaves to the next one of its repository."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pytest_crab.runtimes import handed_on
from pytest_crab.runtimes.inventory import LocalFolders, StoredEnvironment
from pytest_crab.types import CommitSource, Environment, Instance, Provenance, PullRequestFacts, Source

FACTS = PullRequestFacts(number=1, title="one")
SOURCE = Source(commit=CommitSource(url="https://example.org/a/shop", sha="0" * 40, head="a.diff", reference="b.diff"))
INSTANCE = Instance(
    id="one", folder=".", provenance=Provenance.GITHUB, repo="a/shop", language="go", license="MIT", comments=(),
    clean=True, pull_request=FACTS, source=SOURCE, environment=Environment(ecosystem="go", version="1.26"),
)  # fmt: skip


def test_the_next_environment_of_a_repository_begins_with_what_the_last_one_left(tmp_path: Path) -> None:
    old, new, other = (tmp_path / "built" / name for name in ("old", "new", "other"))
    for name in ("mod", "build", "noted"):
        (old / "caches" / name).mkdir(parents=True)
    for folder in (new, other):
        folder.mkdir()
    handed_on.leave(tmp_path, old, INSTANCE)
    handed_on.take(tmp_path, other, dataclasses.replace(INSTANCE, repo="a/store"))
    assert not (other / "caches").exists()
    handed_on.take(tmp_path, new, INSTANCE)
    assert {path.name for path in (new / "caches").iterdir()} == {"mod", "build"}
    handed_on.take(tmp_path, other, INSTANCE)
    assert not (other / "caches").exists(), "two environments have no cache in common"
    handed_on.leave(tmp_path, new, INSTANCE)
    assert len(handed_on.clear(tmp_path)) == 1
    handed_on.take(tmp_path, other, INSTANCE)
    assert not (other / "caches").exists(), "what waited was removed"


def test_caches_that_cannot_be_kept_go_with_their_environment(tmp_path: Path) -> None:
    folder = tmp_path / "built" / ("a" * 32)
    (folder / "caches" / "mod").mkdir(parents=True)
    seen: list[bool] = []

    def leave(gone: Path) -> None:
        seen.append(folder.exists() or not (gone / "caches" / "mod").is_dir())
        raise OSError("the disk is full")

    kept = StoredEnvironment(name=f"built/{folder.name}", key=folder.name, layers={}, used=0.0, instances=frozenset())
    assert LocalFolders(tmp_path, leave).remove(kept)
    assert (seen, list(folder.parent.iterdir())) == ([False], [])
