"""Finding the commits of a pull request in histories as they come: merged, squashed, from afar, or not to be told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.sources.pull_request import PullRequestHistory, PullRequestQuery, find_pull
from pytest_crab.sources.remotes import address_of

URL = "https://git.invalid/owner/shop"


class Upstream:
    """A repository with a pull request of two commits: the reviewed one, and the one that resolved the comments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet")
        self.git("symbolic-ref", "HEAD", "refs/heads/main")  # git 2.25 knows no --initial-branch
        self.base = self.commit("Begin", {"shop.py": "ONE = 1\n", "other.py": "\n"})
        self.git("checkout", "--quiet", "-b", "two")
        self.head = self.commit("Add two", {"shop.py": "ONE = 1\nTWO = 3\n"})
        self.tip = self.commit("Two is two", {"shop.py": "ONE = 1\nTWO = 2\n"})
        self.git("update-ref", "refs/pull/7/head", self.tip)
        self.git("checkout", "--quiet", "main")
        self.main = self.commit("Something else", {"other.py": "OTHER = 1\n"})

    def git(self, *arguments: str) -> str:
        when = {f"GIT_{role}_DATE": "2024-03-01T12:00:00+0000" for role in ("AUTHOR", "COMMITTER")}
        who = {f"GIT_{role}_{part}": "d@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.folder), **who, **when}
        done = subprocess.run(["git", *arguments], cwd=self.folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def merge(self) -> str:
        self.git(
            "merge", "--quiet", "--no-ff", "-m", "Merge pull request #7 from x/two", "-m", "Add a two\n\nWhy.", "two"
        )
        return self.git("rev-parse", "HEAD")

    def squash(self) -> str:
        self.git("merge", "--quiet", "--squash", "two")
        return self.commit("Add a two (#7)\n\nWhy.", {})


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path / "mirror" / "owner" / "shop")


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))


def found(tmp_path: Path, **known: str | int | None) -> PullRequestHistory:
    return find_pull(PullRequestQuery(url=URL, **known), tmp_path / "cache")  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["merge", "squash"])
def test_merge_base_merge_texts_and_day_are_found(way: str, upstream: Upstream, tmp_path: Path) -> None:
    merged = getattr(upstream, way)()
    upstream.commit("Later", {"other.py": "OTHER = 2\n"})
    pull = found(tmp_path, number=7, head=upstream.head[:10])
    assert (pull.base, pull.head, pull.merged) == (upstream.base, upstream.head, merged)
    assert (pull.title, pull.body, pull.merged_at) == ("Add a two", "Why.", "2024-03-01")
    assert pull.commits == ((upstream.head, "Add two"), (upstream.tip, "Two is two"))


def test_from_afar_histories_come_without_files(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = upstream.merge()
    upstream.git("config", "uploadpack.allowFilter", "true")
    upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    monkeypatch.setenv("CRAB_GIT_MIRROR", f"file://{tmp_path}/mirror")
    assert found(tmp_path, number=7, head=upstream.head).merged == merged
    (history,) = (tmp_path / "cache" / "histories").glob("*.git")
    listed = subprocess.run(
        ["git", "rev-list", "--objects", "--missing=print", "--all"], cwd=history, capture_output=True, text=True
    )
    assert "?" in listed.stdout


def test_the_last_commit_is_not_the_reviewed_one_and_the_sentence_names_those_there_are(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.merge()
    with pytest.raises(SourceError, match=rf"name the commit .* with --head, one of {upstream.head[:10]} \(Add two\)"):
        found(tmp_path, number=7)


def test_a_merge_that_is_not_told_must_be_named(upstream: Upstream, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="resolved with --merged"):
        found(tmp_path, number=7, head=upstream.head)
    pull = found(tmp_path, number=7, head=upstream.head, merged=upstream.tip)
    assert (pull.base, pull.merged, pull.title, pull.merged_at) == (upstream.base, upstream.tip, "Add two", None)


def test_a_squash_that_names_no_number_is_found_by_its_files(upstream: Upstream, tmp_path: Path) -> None:
    upstream.git("merge", "--quiet", "--squash", "two")
    merged = upstream.commit("Add a two that is two", {})
    upstream.commit("Later", {"shop.py": "ONE = 1\n"})
    pull = found(tmp_path, number=7, head=upstream.head)
    assert (pull.merged, pull.title, pull.body) == (merged, "Add two", "")


def test_files_that_the_main_line_changed_otherwise_tell_no_squash(upstream: Upstream, tmp_path: Path) -> None:
    upstream.commit("Add a two", {"shop.py": "ONE = 1\nTWO = 2\nTHREE = 3\n"})
    with pytest.raises(SourceError, match="with --merged"):
        found(tmp_path, number=7, head=upstream.head)


def test_a_squash_that_names_another_pull_request_is_not_its_merge(upstream: Upstream, tmp_path: Path) -> None:
    upstream.git("merge", "--quiet", "--squash", "two")
    upstream.commit("Rewrite all (#8)", {})
    with pytest.raises(SourceError, match="with --merged"):
        found(tmp_path, number=7, head=upstream.head)


def test_a_squash_that_puts_a_folder_in_the_place_of_a_file_is_found(upstream: Upstream, tmp_path: Path) -> None:
    upstream.git("checkout", "--quiet", "two")
    upstream.git("rm", "--quiet", "other.py")
    (upstream.folder / "other.py").mkdir()
    upstream.git("update-ref", "refs/pull/7/head", upstream.commit("A folder", {"other.py/two.py": "\n"}))
    upstream.git("checkout", "--quiet", "main")
    upstream.git("revert", "--no-edit", "HEAD")
    upstream.git("merge", "--quiet", "--squash", "two")
    merged = upstream.commit("Add a two that is two", {"other.py/three.py": "\n"})
    assert found(tmp_path, number=7, head=upstream.head).merged == merged


@pytest.mark.parametrize("known", ["head", "number and head"])
@pytest.mark.parametrize("squashed", [True, False])
def test_the_title_of_a_later_fix_is_not_that_of_the_pull_request(
    known: str, upstream: Upstream, tmp_path: Path, *, squashed: bool
) -> None:
    """The pull request was merged as it was reviewed; another one mended it."""
    upstream.git("update-ref", "refs/pull/7/head", upstream.head)
    upstream.git("merge", "--quiet", *(["--squash"] if squashed else ["--no-ff", "--no-commit"]), upstream.head)
    upstream.commit("Add a two (#7)", {})
    fix = upstream.commit("Two is no longer three (#9)\n\nIt was three.", {"shop.py": "ONE = 1\nTWO = 2\n"})
    number = {"number": 7} if known != "head" else {}
    pull = found(tmp_path, head=upstream.head, merged=fix, **number)
    assert (pull.merged, pull.title, pull.body) == (fix, "Add two", "")


def test_a_repository_on_this_machine_needs_no_pull_request_ref(upstream: Upstream, tmp_path: Path) -> None:
    merged = upstream.merge()
    upstream.git("update-ref", "-d", "refs/pull/7/head")
    pull = found(tmp_path, head=upstream.head, place=str(upstream.folder))
    assert (pull.base, pull.merged) == (upstream.base, merged)


@pytest.mark.parametrize(
    ("known", "telling"),
    [
        ({"number": 8}, "has no pull request 8; name its reviewed commit with --head"),
        ({"number": 7, "head": "f" * 40}, "--head is f{40}, which is no commit of this repository"),
        ({"number": 7, "head": "main"}, "--head is 'main'; it should be a commit's sha"),
    ],
)
def test_what_is_not_there_is_one_sentence(
    known: dict[str, str | int | None], telling: str, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.merge()
    with pytest.raises(SourceError, match=telling):
        found(tmp_path, **known)


def test_no_place_that_answers(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreachable, match=r"git\.invalid/owner/shop cannot be reached: set CRAB_GIT_MIRROR"):
        found(tmp_path, number=7)


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("git@github.com:owner/shop.git", "https://github.com/owner/shop"),
        ("https://user:secret@git.example/owner/shop.git", "https://git.example/owner/shop"),
        ("/somewhere/else", None),
    ],
)
def test_the_address_of_a_clone(origin: str, address: str | None, upstream: Upstream) -> None:
    upstream.git("remote", "add", "origin", origin)
    assert address_of(upstream.folder) == address
