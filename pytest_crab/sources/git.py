"""Fetch three commits of a public repository by their shas, without any other history."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.formats import format_names
from pytest_crab.git_mirror import MIRROR, SETTINGS, is_local, owner_and_name, places
from pytest_crab.sources import partial_clone, snapshot_store
from pytest_crab.sources.git_cli import Git, GitError, create
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import GitSource, Instance

_PASSED_ON = (
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSH_AUTH_SOCK"),
)
_SLOW = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}
#: How many names of files a sentence has at most.
_SHOWN = 20
_ANSWER_SECONDS = 30
_FETCH_SECONDS = 1800

_NO_SUCH_OBJECT = ("not our ref", "not valid")
_REFUSED = ("unadvertised object", "dumb http transport")


class GitFetcher:
    """Fetches the trees of three commits: the merge base, the reviewed head, and the merged commit.

    One object serves a process, so that a place which does not answer is asked only once.
    """

    def __init__(self) -> None:
        self._silent: dict[str, str] = {}

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The repository and the three shas."""
        facts = _facts(instance)
        base, head, merged = _shas(facts)
        return {
            "kind": "git",
            "history": snapshot_store.HISTORY,
            "url": facts.url,
            "base": base,
            "head": head,
            "merged": merged,
        }

    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Bring the trees here. Raises SourceUnreachable or SourceError."""

        def build(_: Git) -> snapshot_store.Trees:
            git = self.fetch_commits(instance, cache)
            return snapshot_store.Trees(git, *trees_of(git, instance))

        return snapshot_store.snapshot(cache, self.identity(instance), instance, build)

    def commit_times(self, instance: Instance, cache: Path) -> tuple[datetime, datetime]:
        """Return the commit times of head and merged, in UTC. Raises SourceUnreachable or SourceError."""
        git = self.fetch_commits(instance, cache)
        with git.reading() as repository:
            seconds = [repository.commit(sha).committed_date for sha in _shas(_facts(instance))[1:]]
        head, merged = (datetime.fromtimestamp(moment, timezone.utc) for moment in seconds)
        return head, merged

    def notes(self, instance: Instance, cache: Path) -> tuple[str, ...]:
        """Return the sentences that a person should read about the trees: which files they leave out."""
        git = self.fetch_commits(instance, cache)
        lost = partial_clone.lost_files(git, _shas(_facts(instance))) if partial_clone.is_borrowed(git) else ()
        told = f"the mirror lacks the content of {format_names(lost, _SHOWN)}, which the trees leave out"
        return (told,) if lost else ()

    def fetch_commits(self, instance: Instance, cache: Path) -> Git:
        """Return the cache of the instance's repository once it has its commits. Raises SourceError."""
        with locked_cache(_facts(instance).url, cache) as git:
            self._fetch_missing(git, instance)
        return git

    def _fetch_missing(self, git: Git, instance: Instance) -> None:
        """Fetch missing commits from the first place that has them. Raises SourceUnreachable or SourceError."""
        facts = _facts(instance)
        heard: list[str] = []
        lacking: list[str] = []
        for place in places(facts.url):
            if not _missing(git, facts):
                return
            if place in self._silent or not self._answers(git, place):
                heard.append(f"{place} ({self._silent[place]})")
                continue
            try:
                _fetch(git, place, instance)
            except GitError as error:
                heard.append(f"{place} ({error.words})")
                if is_local(place) and partial_clone.is_partial(error):
                    partial_clone.borrow(git, Path(place))
            else:
                lacking.append(place)
        missing = _missing(git, facts)
        if missing and lacking:
            raise SourceError(
                f"{instance.id}: {', '.join(lacking)} has no commit {', '.join(missing)}; source.git should be checked"
            )
        if missing:
            raise SourceUnreachable(
                f"{facts.url} cannot be reached: set {MIRROR} to a folder or URL prefix that holds "
                f"{owner_and_name(facts.url)} (no answer from {', '.join(heard)})"
            )

    def _answers(self, git: Git, place: str) -> bool:
        """Return whether a repository answers at ``place``; if none does, remember why and do not ask again."""
        if is_local(place) and not Path(place).is_dir():
            self._silent[place] = "there is no such folder"
            return False
        try:
            ask(git, "ls-remote", "--quiet", "--", place, "HEAD", seconds=_ANSWER_SECONDS)
        except GitError as error:
            self._silent[place] = error.words
            return False
        return True


def trees_of(git: Git, instance: Instance) -> tuple[str, str, str]:
    """Return the trees of the instance's commits in the cache of its repository. Raises SourceError."""
    shas = _shas(_facts(instance))
    if partial_clone.is_borrowed(git):
        base, head, merged = partial_clone.trees_without_lost(
            git, shas, [comment.path for comment in instance.comments]
        )
        return base, head, merged
    with git.reading() as repository:
        base, head, merged = (repository.commit(sha).tree.hexsha for sha in shas)
    return base, head, merged


def bring(url: str, sha: str, folder: Path, cache: Path) -> None:
    """Bring a commit of a repository's folder on this machine to where fetchers look first. Raises SourceError."""
    with locked_cache(url, cache) as git:
        if not git.has(f"{sha}^{{commit}}"):
            _fetch_refs(git, str(folder.absolute()), ["--depth=1"], [sha], local=True)


def bring_history(url: str, cache: Path) -> Path:
    """Bring the main line of a repository here, up to what it is now, and return its folder.

    Raises SourceUnreachable.
    """
    heard = []
    with locked_cache(url, cache, "histories") as git:
        for place in places(url):
            try:
                _fetch_refs(git, place, [], ["+HEAD:refs/heads/main"])
            except GitError as error:
                heard.append(f"{place} ({error.words})")
            else:
                return git.folder
    raise SourceUnreachable(f"{url} cannot be reached (no answer from {', '.join(heard)})")


@contextmanager
def locked_cache(url: str, cache: Path, kind: str = "repositories") -> Iterator[Git]:
    """Yield the cache of one public repository, locked while the context lasts."""
    name = hashlib.sha256(url.encode()).hexdigest()[:32]
    with snapshot_store.cache_lock(cache.absolute(), f"repository-{name}"):
        yield cached_repository(cache.absolute() / kind / f"{name}.git")


def cached_repository(folder: Path) -> Git:
    """Return the cache of one public repository, made if missing. The caller holds its lock."""
    if not (folder / "HEAD").exists():
        aside = folder.with_suffix(".aside")
        _remove(aside)
        create(aside)
        aside.rename(folder)
    _settings_folder(folder).mkdir(exist_ok=True)
    (_settings_folder(folder) / ".gitconfig").write_text(SETTINGS)
    return Git(folder)


def _settings_folder(folder: Path) -> Path:
    """Return the folder that holds git's settings for mirrors."""
    return folder / "home"


def _fetch(git: Git, place: str, instance: Instance) -> None:
    """Fetch the missing commits alone; from a place that gives none by its sha, all branches and the pull request."""
    missing = _missing(git, _facts(instance))
    try:
        _fetch_refs(git, place, ["--depth=1"], missing)
    except GitError as error:
        if _says(error, _NO_SUCH_OBJECT):
            _fetch_singly(git, place, missing)
        elif _says(error, _REFUSED):
            _fetch_branches(git, place, instance)
        else:
            raise


def _fetch_singly(git: Git, place: str, shas: Sequence[str]) -> None:
    """Fetch those of the commits that are there: asked for together, one that is not there spoils all."""
    for sha in shas:
        try:
            _fetch_refs(git, place, ["--depth=1"], [sha])
        except GitError as error:
            if not _says(error, _NO_SUCH_OBJECT):
                raise


def _fetch_branches(git: Git, place: str, instance: Instance) -> None:
    unshallow = ["--unshallow"] if (git.folder / "shallow").exists() else []
    _fetch_refs(git, place, unshallow, ["+refs/heads/*:refs/fetched/heads/*"])
    if _missing(git, _facts(instance)):
        _fetch_refs(git, place, [], [f"+refs/pull/{instance.pull_request.number}/head:refs/fetched/pull"])


def _says(error: GitError, words: Sequence[str]) -> bool:
    return any(word in error.words for word in words)


def _fetch_refs(git: Git, place: str, options: Sequence[str], refs: Sequence[str], *, local: bool = False) -> None:
    fixed = ("--quiet", "--no-tags", "--no-auto-gc", "--no-recurse-submodules")
    ask(git, "fetch", *fixed, *options, "--", place, *refs, seconds=_FETCH_SECONDS, local=local)


def ask(git: Git, *arguments: str, seconds: float, local: bool = False) -> bytes:
    """Run git against another repository, with this machine's proxies and authorities; ``local``: one lies here."""
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env["GIT_CONFIG_GLOBAL"] = str(_settings_folder(git.folder) / ".gitconfig")
    env["HOME"] = str(_settings_folder(git.folder))  # git before 2.32 knows no other way
    if os.environ.get(MIRROR) or local:
        env["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git:file"
    return git.run(*arguments, env=env, settings=_SLOW, seconds=seconds)


def _missing(git: Git, facts: GitSource) -> list[str]:
    return [sha for sha in dict.fromkeys(_shas(facts)) if not git.has(f"{sha}^{{commit}}")]


def _shas(facts: GitSource) -> tuple[str, str, str]:
    """Return the merge base, the head, and the reference: the head again where no merged commit is named."""
    return facts.base, facts.head, facts.merged or facts.head


def _facts(instance: Instance) -> GitSource:
    facts, commit = instance.source.git, instance.source.commit
    if commit is not None:
        return GitSource(url=commit.url, base=commit.sha, head=commit.sha)
    assert facts is not None
    return facts


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
