"""Mirrors that have a commit and not the content of all its files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import SourceError
from pytest_crab.sources.git import GitFetcher
from pytest_crab.types import Instance

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))


def lose(git: Run, folder: Path, name: str) -> None:
    blob = git(folder, "rev-parse", name)
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


def test_a_file_that_nobody_touched_is_left_out_and_told(
    instance: Instance, upstream: Any, tmp_path: Path, git: Run
) -> None:
    lose(git, upstream.path, f"{upstream.base}:kept.log")
    wanted = upstream.instance(instance)
    source = GitFetcher()
    snapshot = source.fetch(wanted, tmp_path / "cache")
    for tree in (snapshot.base_tree, snapshot.head_tree, snapshot.reference_tree):
        assert snapshot.read(tree, "kept.log") is None
        assert snapshot.read(tree, "pkg/run.sh") == b"echo\n"
    (note,) = source.notes(wanted, tmp_path / "cache")
    assert "kept.log" in note
    snapshot.clone(tmp_path / "checkout")
    assert (tmp_path / "checkout" / "shop.py").read_text() == "one\ntoo\n"


@pytest.mark.parametrize("place", ["head:shop.py", "merged:shop.py", "base:pkg/run.sh"])
def test_what_is_measured_is_never_left_out(
    instance: Instance, upstream: Any, tmp_path: Path, git: Run, place: str
) -> None:
    side, _, path = place.partition(":")
    lose(git, upstream.path, f"{getattr(upstream, side)}:{path}")
    comment = dataclasses.replace(instance.comments[0], path=path)
    wanted = dataclasses.replace(upstream.instance(instance), comments=(comment,))
    with pytest.raises(SourceError, match=rf"lacks the content of {path}"):
        GitFetcher().fetch(wanted, tmp_path / "cache")


def test_whole_mirrors_leave_nothing_out(instance: Instance, upstream: Any, tmp_path: Path) -> None:
    assert GitFetcher().notes(upstream.instance(instance), tmp_path / "cache") == ()


def test_when_the_sides_were_committed(instance: Instance, upstream: Any, tmp_path: Path, git: Run) -> None:
    wanted = upstream.instance(instance)
    told = GitFetcher().commit_times(wanted, tmp_path / "cache")
    seconds = [int(git(upstream.path, "show", "-s", "--format=%ct", sha)) for sha in (upstream.head, upstream.merged)]
    assert [moment.timestamp() for moment in told] == seconds
