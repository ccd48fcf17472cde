"""The door to git: what it lets in of this machine, and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_crab import scratch
from pytest_crab.errors import SourceError
from pytest_crab.runtimes import run_lock
from pytest_crab.sources.git_cli import Git, GitError, create
from pytest_crab.sources.git_trees import content


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return create(tmp_path / "own.git")


def blob(git: Git, content: bytes) -> str:
    return git.line("hash-object", "-w", "--stdin", stdin=content)


def test_git_is_given_nothing_of_the_machine(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that is found as git writes down what it is given, then is git."""
    real = subprocess.check_output(["which", "git"], text=True).strip()
    told = tmp_path / "told"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\nenv >> {told}\nexec {real} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    name = blob(git, b"one\n")
    hostile = {
        "GIT_DIR": "/elsewhere", "GIT_INDEX_FILE": "/elsewhere", "GIT_OBJECT_DIRECTORY": "/elsewhere",
        "GIT_COMMON_DIR": "/elsewhere", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c",
        "GIT_EXTERNAL_DIFF": "/elsewhere", "GIT_TRACE": "/elsewhere", "HOME": "/elsewhere", "SOME_KEY": "a secret",
        "LD_LIBRARY_PATH": "/elsewhere", "-odd": "name",
    }  # fmt: skip
    for variable, value in hostile.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert git.run("cat-file", "blob", name) == b"one\n"
    tree = git.line("mktree", stdin=f"100644 blob {name}\tfile\n".encode())
    assert content(git, tree, "file") == b"one\n"
    seen = told.read_text()
    assert seen.count(f"GIT_DIR={git.folder}") == seen.count("GIT_DIR=") > 2
    assert "elsewhere" not in seen
    assert "secret" not in seen
    assert "GIT_CONFIG_COUNT" not in seen


def test_a_replaced_object_and_a_users_settings_are_not_looked_at(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[core\nis no configuration")
    monkeypatch.setenv("HOME", str(tmp_path))
    one, other = blob(git, b"one\n"), blob(git, b"other\n")
    git.run("update-ref", f"refs/replace/{one}", other)
    tree = git.line("mktree", stdin=f"100644 blob {one}\tfile\n".encode())
    assert content(git, tree, "file") == b"one\n"


def test_a_commit_is_of_a_tree_that_there_is_or_an_error_of_git(git: Git, tmp_path: Path) -> None:
    tree = git.line("mktree")
    assert git.commit(tree, "base") == create(tmp_path / "other.git").commit(tree, "base")
    with pytest.raises(GitError, match="commit-tree failed"):
        git.commit("1" * 40, "base")


def test_processes_end_with_what_they_were_for(git: Git) -> None:
    tree = git.line("mktree")
    own = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children"
    before = {*Path(own).read_text().split()}
    with git.reading() as repository:
        assert list(repository.tree(tree)) == []
        assert {*Path(own).read_text().split()} - before
    assert {*Path(own).read_text().split()} <= before


def test_a_repository_that_is_gone_or_damaged_is_one_sentence(git: Git, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"), git.reading() as repository:
        repository.commit("1" * 40)
    git.folder.rename(tmp_path / "moved")
    with pytest.raises(SourceError, match="is gone: run again"), git.reading() as repository:
        repository.commit("1" * 40)
    with pytest.raises(SourceError, match="is gone: run again"):
        git.line("rev-parse", "HEAD")


def test_without_git_a_sentence_says_what_to_install(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SourceError, match=r"no git on the search path; git [\d.]+ or later"):
        git.line("rev-parse", "HEAD")


KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_crab.sources.git_cli import create
from pytest_crab.sources.git_trees import content
with create(Path(sys.argv[1])).with_index(None) as indexed:
    print(indexed.index.parent, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_index_of_a_killed_process_goes_with_the_next_run(git: Git, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "other.git")]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = Path(killed.stdout.strip())
    assert left.is_dir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path))
        with git.with_index(None) as living, scratch.scratch("other") as other:
            assert run_lock.sweep_folders() == [left.name]
            assert living.line("write-tree")
            assert other.is_dir()
        assert not left.exists()
        assert run_lock.sweep_folders() == []
    assert list(tmp_path.glob("crab-*")) == []
