from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_crab.sources.merge_base import Fork, find_fork

URL = "https://github.com/owner/name"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "a.txt").write_text(text)
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mirror" / "owner" / "name"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    return folder


def test_the_merge_base_and_the_diff_from_there(repository: Path) -> None:
    start = commit(repository, "one\n")
    git(repository, "checkout", "-qb", "topic")
    head = commit(repository, "two\n")
    git(repository, "checkout", "-q", "-")
    later = commit(repository, "three\n")
    found = find_fork(URL, later, head)
    assert isinstance(found, Fork)
    assert found.merge_base == start
    assert found.diff.startswith("diff --git a/a.txt b/a.txt\n")
    assert found.diff.endswith("-one\n+two\n")


def test_a_bare_repository_answers_too(repository: Path, tmp_path: Path) -> None:
    start = commit(repository, "one\n")
    bare = tmp_path / "mirror" / "owner" / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    assert find_fork("https://github.com/owner/bare.git", start, start) == Fork(merge_base=start, diff="")


def test_what_cannot_be_told_is_said(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = commit(repository, "one\n")
    assert find_fork(URL, start, "0" * 40) == f"the mirror has no commit {'0' * 40}"
    git(repository, "checkout", "-q", "--orphan", "other")
    other = commit(repository, "two\n")
    assert find_fork(URL, start, other) == f"{start} and {other} have no common ancestor"
    assert find_fork("https://github.com/owner/else", start, start) == f"{tmp_path / 'mirror'} has no owner/else"
    monkeypatch.setenv("CRAB_GIT_MIRROR", "https://mirror.invalid")
    assert find_fork(URL, start, start) == "CRAB_GIT_MIRROR names no folder"


def test_a_shallow_mirror_cannot_tell(repository: Path, tmp_path: Path) -> None:
    commit(repository, "one\n")
    head = commit(repository, "two\n")
    shallow = tmp_path / "mirror" / "owner" / "shallow.git"
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", repository.as_uri(), str(shallow))
    assert find_fork("https://github.com/owner/shallow", head, head) == "the mirror is shallow"
