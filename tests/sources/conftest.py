"""Small instances of every source, on real files and real repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.sources import fetcher_for
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import GitSource, Instance, Oracle, PullRequestFacts, Source, TreeSource

BASE = {"shop.py": "one\ntwo\n", "pkg/run.sh": "echo\n", ".gitignore": "build/\n*.log\n", "kept.log": "kept\n"}


def diff_of(before: str, after: str, path: str = "shop.py") -> str:
    """A one-line change as git writes it."""
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n one\n-{before}\n+{after}\n"


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def instance(tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Any]) -> Instance:
    """A pull request on a tree: head says too, the reference says three."""
    project = write_files(tmp_path / "set" / "project", BASE)
    (project / "pkg" / "run.sh").chmod(0o755)
    folder = write_files(
        tmp_path / "set" / "shop-7",
        {"head.diff": diff_of("two", "too"), "reference.diff": diff_of("too", "three"), "test_c0.py": ""},
    )
    oracle = Oracle(file="test_c0.py")
    return tree_instance(
        folder,
        "shop-7",
        tree_comment("c0", "shop.py", lines=(1, 2), body="Say three.", oracle=oracle, reference="reference.diff"),
        repo="owner/shop",
        pull_request=PullRequestFacts(number=7, title="Count"),
        source=Source(tree=TreeSource(path="../project", head="head.diff", reference="reference.diff")),
    )


@dataclass(frozen=True)
class Upstream:
    """A repository as a forge keeps it: the pull request's head is on refs/pull/7/head alone."""

    path: Path
    base: str
    head: str
    merged: str

    def instance(self, instance: Instance, **changes: str | None) -> Instance:
        facts = {"url": "https://git.invalid/owner/shop", "base": self.base, "head": self.head, "merged": self.merged}
        return replace(instance, source=Source(git=GitSource(**{**facts, **changes})))


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    """Run git as a developer would, without this machine's configuration."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]

    def run(folder: Path, *arguments: str) -> str:
        argv = ["git", *who, *arguments]
        return subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()

    return run


@pytest.fixture
def upstream(tmp_path: Path, git: Callable[..., str]) -> Upstream:
    folder = tmp_path / "mirror" / "owner" / "shop"
    write_files(folder, {**BASE, "LICENSE": "MIT\n"})
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")  # git 2.25 knows no --initial-branch
    git(folder, "add", "--force", ".")
    git(folder, "commit", "--quiet", "-m", "before")
    write_files(folder, {"LICENSE": "MIT License\n"})
    git(folder, "commit", "--quiet", "-am", "start")
    base = git(folder, "rev-parse", "HEAD")
    git(folder, "tag", "v1")
    git(folder, "checkout", "--quiet", "-b", "topic")
    write_files(folder, {"shop.py": "one\ntoo\n"})
    git(folder, "commit", "--quiet", "-am", "head")
    head = git(folder, "rev-parse", "HEAD")
    write_files(folder, {"shop.py": "one\nthree\n"})
    git(folder, "commit", "--quiet", "-am", "the answer")
    git(folder, "update-ref", "refs/pull/7/head", "HEAD")
    git(folder, "checkout", "--quiet", "main")
    git(folder, "merge", "--quiet", "--squash", "topic")
    git(folder, "commit", "--quiet", "-m", "merged")
    git(folder, "branch", "--quiet", "-D", "topic")
    return Upstream(folder, base, head, git(folder, "rev-parse", "HEAD"))


@pytest.fixture
def snapshot(instance: Instance, tmp_path: Path) -> GitSnapshot:
    """The trees of the instance, fetched."""
    found = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    assert isinstance(found, GitSnapshot)
    return found


@pytest.fixture
def checkout(snapshot: GitSnapshot, tmp_path: Path) -> Path:
    """A clone of the trees, at head."""
    snapshot.clone(tmp_path / "checkout")
    return tmp_path / "checkout"
