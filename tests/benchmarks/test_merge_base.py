"""An import with a mirror at hand: the base is looked up and the stored patch compared."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.ccrab.importing import import_ccrab
from pytest_crab.instances import load_instance


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "app.py").write_text(text)
    git(folder, "add", "app.py")
    git(folder, "commit", "-qm", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """Where the pull request starts, its head, and what came after its start."""
    folder = tmp_path / "mirror" / "one" / "app"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    start = commit(folder, "one\n")
    git(folder, "checkout", "-qb", "topic")
    head = commit(folder, "two\n")
    git(folder, "checkout", "-q", "main")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    return start, head, commit(folder, "three\n")


def test_a_base_that_is_no_merge_base_is_replaced_and_said(
    tmp_path: Path, made: Any, commits: tuple[str, str, str]
) -> None:
    start, head, later = commits
    for row, base in zip(made.rows, (later, start), strict=True):
        row["base_commit"] = base
        row["commit_to_review"]["head_commit"] = head
    made.rows[1]["commit_to_review"]["patch_to_review"] += "\n+three\n"
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    a, b = (load_instance(tmp_path / "set" / name) for name in made.names[:2])
    assert a.source.git is not None
    assert b.source.git is not None
    assert (a.source.git.base, a.tags["base"], a.tags["patch"]) == (start, "merge base", "same")
    assert (b.source.git.base, b.tags["base"], b.tags["patch"]) == (start, "merge base", "differs")
    assert done.rows == [
        f"{a.id}: the row's base {later[:12]} is not the merge base; {start[:12]} is written",
        f"{b.id}: the diff from the merge base to head is not the stored patch",
    ]
    assert dict(done.checked) == {
        "bases that were no merge base, and are now": 1,
        "bases that are the merge base": 1,
        "stored patches that are the diff from there to head": 1,
        "stored patches that are not the diff from there to head": 1,
    }


def test_commits_that_the_mirror_has_not_leave_the_base_unchecked(
    tmp_path: Path, made: Any, commits: tuple[str, str, str]
) -> None:
    done = import_ccrab(made.write(tmp_path / "release"), tmp_path / "set")
    assert load_instance(tmp_path / "set" / made.names[0]).tags["base"] == "unchecked"
    assert dict(done.unchecked) == {"the mirror has no commit <sha>": 2}
