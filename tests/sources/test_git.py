"""Pull requests of real repositories, from small ones on this machine."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.sources.git import GitFetcher
from pytest_crab.sources.git_cli import Git
from pytest_crab.types import Instance

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))


def test_the_trees_are_the_commits_own(instance: Instance, upstream: Any, tmp_path: Path, git: Run) -> None:
    wanted = upstream.instance(instance)
    snapshot = GitFetcher().fetch(wanted, tmp_path / "cache")
    for tree, commit in (
        (snapshot.base_tree, upstream.base),
        (snapshot.head_tree, upstream.head),
        (snapshot.reference_tree, upstream.merged),
    ):
        assert tree == git(upstream.path, "rev-parse", f"{commit}^{{tree}}")
    assert snapshot.pull_request_diff().endswith("-two\n+too\n")
    assert snapshot.read(snapshot.reference_tree, "shop.py") == b"one\nthree\n"


def test_without_a_merged_commit_the_head_is_the_reference(instance: Instance, upstream: Any, tmp_path: Path) -> None:
    bare = dataclasses.replace(instance.comments[0], oracle=None, kind=None, reference=None, accepts=(), rejects=())
    read_only = dataclasses.replace(instance, comments=(bare,), environment=None, pass_to_pass=())
    snapshot = GitFetcher().fetch(upstream.instance(read_only, merged=None), tmp_path / "cache")
    assert snapshot.reference_tree == snapshot.head_tree
    with pytest.raises(ValueError, match="merged is missing"):
        upstream.instance(instance, merged=None)


def test_a_clone_has_nothing_of_the_real_history(instance: Instance, upstream: Any, tmp_path: Path, git: Run) -> None:
    snapshot = GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache")
    checkout = tmp_path / "checkout"
    snapshot.clone(checkout)
    stored = set(git(checkout, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    answer = git(upstream.path, "hash-object", "shop.py")
    assert not stored & {upstream.base, upstream.head, upstream.merged, snapshot.reference_tree, answer}
    assert git(checkout, "rev-list", "--count", "--all") == "2"
    assert not (checkout / ".git" / "shallow").exists()


def test_only_three_commits_are_fetched(instance: Instance, upstream: Any, tmp_path: Path, git: Run) -> None:
    GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache")
    (cached,) = (tmp_path / "cache" / "repositories").glob("*.git")
    lines = git(cached, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").splitlines()
    commits = {line.split()[1] for line in lines if line.startswith("commit")}
    assert commits == {upstream.base, upstream.head, upstream.merged}


def test_instances_share_a_repository_and_need_no_second_fetch(
    instance: Instance, upstream: Any, tmp_path: Path
) -> None:
    GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache")
    shutil.rmtree(tmp_path / "mirror")
    swapped = upstream.instance(instance, merged=upstream.base)
    snapshot = GitFetcher().fetch(swapped, tmp_path / "cache")
    assert snapshot.reference_tree == snapshot.base_tree
    assert len(list((tmp_path / "cache" / "repositories").glob("*.git"))) == 1


@pytest.mark.parametrize("bare", [True, False])
def test_a_mirror_may_be_a_bare_repository(
    instance: Instance,
    upstream: Any,
    tmp_path: Path,
    git: Run,
    *,
    bare: bool,
) -> None:
    if bare:
        git(tmp_path, "clone", "--quiet", "--mirror", str(upstream.path), f"{upstream.path}.git")
        shutil.rmtree(upstream.path)
    assert GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache").head


def test_a_missing_commit_is_a_source_error(instance: Instance, upstream: Any, tmp_path: Path) -> None:
    wanted = upstream.instance(instance, merged="f" * 40)
    with pytest.raises(SourceError, match=f"shop-7: .*/owner/shop has no commit {'f' * 40}; source.git should be"):
        GitFetcher().fetch(wanted, tmp_path / "cache")


def test_an_unreachable_repository_names_url_and_mirror(
    instance: Instance, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "elsewhere"))
    with pytest.raises(SourceUnreachable) as caught:
        GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache")
    for telling in ("https://git.invalid/owner/shop", "CRAB_GIT_MIRROR", "owner/shop", "no such folder"):
        assert telling in str(caught.value)


def test_without_a_mirror_only_https_is_spoken(
    instance: Instance, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRAB_GIT_MIRROR")
    wanted = upstream.instance(instance, url=f"file://{upstream.path}")
    with pytest.raises(SourceUnreachable, match="transport 'file' not allowed"):
        GitFetcher().fetch(wanted, tmp_path / "cache")


def test_a_place_that_does_not_answer_is_asked_once(
    instance: Instance, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRAB_GIT_MIRROR")
    source = GitFetcher()
    asked = []
    run = Git.run

    def counting(self: Git, *arguments: str, **options: Any) -> bytes:
        asked.extend(word for word in arguments if word == "ls-remote")
        return run(self, *arguments, **options)

    monkeypatch.setattr(Git, "run", counting)
    for merged in (upstream.merged, upstream.base):
        with pytest.raises(SourceUnreachable):
            source.fetch(upstream.instance(instance, merged=merged), tmp_path / "cache")
    assert asked == ["ls-remote"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def plain_server(upstream: Any) -> Iterator[str]:
    """A web server that knows nothing of git, so that no commit can be asked for by its sha."""
    subprocess.run(["git", "update-server-info"], cwd=upstream.path, check=True)
    served = upstream.path.parent.parent.with_name("served")
    shutil.copytree(upstream.path / ".git", served / "owner" / "shop.git")
    handler = functools.partial(Quiet, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_mirror_that_gives_no_commit_by_its_sha_gives_its_branches(
    instance: Instance, upstream: Any, plain_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", plain_server)
    snapshot = GitFetcher().fetch(upstream.instance(instance), tmp_path / "cache")
    assert snapshot.read(snapshot.head_tree, "shop.py") == b"one\ntoo\n"
    assert snapshot.read(snapshot.reference_tree, "shop.py") == b"one\nthree\n"


def test_the_identity_needs_no_network(instance: Instance, upstream: Any) -> None:
    identity = GitFetcher().identity(upstream.instance(instance))
    assert identity == {
        "kind": "git",
        "history": 1,
        "url": "https://git.invalid/owner/shop",
        "base": upstream.base,
        "head": upstream.head,
        "merged": upstream.merged,
    }
