"""A real pull request: three commits of a public repository, fetched by their shas without any other history."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_crab.errors import SourceError
from pytest_crab.errors import SourceUnreachable
from pytest_crab.sources import partial
from pytest_crab.sources import trees
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.git_cli import GitError
from pytest_crab.sources.git_cli import create
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import GitSource as Facts
from pytest_crab.types import Instance

#: Says where else repositories are: a folder or the start of a URL, to which /owner/name is added.
MIRROR = "CRAB_GIT_MIRROR"

_PASSED_ON = (
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSH_AUTH_SOCK"),
)
_SLOW = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}
_PROBE_SECONDS = 30
_FETCH_SECONDS = 1800

#: A mirror on this machine may belong to another user, and may not offer every commit by its sha.
_MIRROR_CONFIG = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n"

_NO_SUCH_OBJECT = ("not our ref", "not valid")
_REFUSED = ("unadvertised object", "dumb http transport")


class GitSource:
    """Takes the trees from the commits themselves: the merge base, the reviewed head, and what was merged.

    One object serves a process, so that a place which does not answer is asked only once.
    """

    def __init__(self) -> None:
        self._silent: dict[str, str] = {}

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The repository and the three shas."""
        facts = _facts(instance)
        base, head, merged = _shas(facts)
        return {"kind": "git", "history": trees.HISTORY, "url": facts.url, "base": base, "head": head, "merged": merged}

    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Bring the trees here. Raises SourceUnreachable or SourceError."""

        def build(_: Git) -> trees.Trees:
            git = self._brought(instance, cache)
            shas = _shas(_facts(instance))
            if partial.is_borrowed(git):
                base, head, merged = partial.without_lost(git, shas, [comment.path for comment in instance.comments])
            else:
                with git.reading() as repository:
                    base, head, merged = (repository.commit(sha).tree.hexsha for sha in shas)
            return trees.Trees(git, base, head, merged)

        return trees.snapshot(cache, self.identity(instance), build)

    def committed(self, instance: Instance, cache: Path) -> tuple[datetime, datetime]:
        """When head and merged were committed, in UTC. Raises SourceUnreachable or SourceError."""
        git = self._brought(instance, cache)
        with git.reading() as repository:
            seconds = [repository.commit(sha).committed_date for sha in _shas(_facts(instance))[1:]]
        head, merged = (datetime.fromtimestamp(moment, timezone.utc) for moment in seconds)
        return head, merged

    def left_out(self, instance: Instance, cache: Path) -> tuple[str, ...]:
        """The files that are not in the trees, since the mirror that they came from lacks their content."""
        git = self._brought(instance, cache)
        return partial.lost(git, _shas(_facts(instance))) if partial.is_borrowed(git) else ()

    def _brought(self, instance: Instance, cache: Path) -> Git:
        """The cache of the instance's repository, with its three commits."""
        with kept(_facts(instance).url, cache) as git:
            self._bring(git, instance)
        return git

    def _bring(self, git: Git, instance: Instance) -> None:
        """Fetch what is missing from the first place that has it."""
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
                if is_local(place) and partial.is_partial(error):
                    partial.borrow(git, Path(place))
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
                f"{_owner_and_name(facts.url)} (no answer from {', '.join(heard)})"
            )

    def _answers(self, git: Git, place: str) -> bool:
        """Whether there is a repository at ``place``; why not is kept."""
        if is_local(place) and not Path(place).is_dir():
            self._silent[place] = "there is no such folder"
            return False
        try:
            ask(git, "ls-remote", "--quiet", "--", place, "HEAD", seconds=_PROBE_SECONDS)
        except GitError as error:
            self._silent[place] = error.words
            return False
        return True


def places(url: str) -> Iterator[str]:
    """Where to look for a repository, the mirror first: it is named where the rest cannot be reached."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    if mirror:
        mirror = mirror if "://" in mirror else str(Path(mirror).absolute())
        yield f"{mirror}/{_owner_and_name(url)}.git"
        yield f"{mirror}/{_owner_and_name(url)}"
    yield url


def _owner_and_name(url: str) -> str:
    return "/".join(urlsplit(url).path.strip("/").removesuffix(".git").split("/")[-2:])


def is_local(place: str) -> bool:
    """Whether a place to fetch from is a folder of this machine."""
    return "://" not in place


@contextmanager
def kept(url: str, cache: Path, kind: str = "repositories") -> Iterator[Git]:
    """The cache of one public repository, nobody else's while this is held."""
    name = hashlib.sha256(url.encode()).hexdigest()[:32]
    with trees.cache_lock(cache.absolute(), f"repository-{name}"):
        yield repository(cache.absolute() / kind / f"{name}.git")


def repository(folder: Path) -> Git:
    """The cache of one public repository; all its instances share it. Call with its lock held."""
    if not (folder / "HEAD").exists():
        aside = folder.with_suffix(".aside")
        _remove(aside)
        create(aside)
        aside.rename(folder)
    _home(folder).mkdir(exist_ok=True)
    (_home(folder) / ".gitconfig").write_text(_MIRROR_CONFIG)
    return Git(folder)


def _home(folder: Path) -> Path:
    """Where git finds the settings for mirrors."""
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


def _fetch_refs(git: Git, place: str, options: Sequence[str], refs: Sequence[str]) -> None:
    fixed = ("--quiet", "--no-tags", "--no-auto-gc", "--no-recurse-submodules")
    ask(git, "fetch", *fixed, *options, "--", place, *refs, seconds=_FETCH_SECONDS)


def ask(git: Git, *arguments: str, seconds: float, local: bool = False) -> bytes:
    """Run git against another repository, with this machine's proxies and authorities; ``local``: one lies here."""
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env["GIT_CONFIG_GLOBAL"] = str(_home(git.folder) / ".gitconfig")
    env["HOME"] = str(_home(git.folder))  # git before 2.32 knows no other way
    if os.environ.get(MIRROR) or local:
        env["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git:file"
    return git.run(*arguments, env=env, settings=_SLOW, seconds=seconds)


def _missing(git: Git, facts: Facts) -> list[str]:
    return [sha for sha in dict.fromkeys(_shas(facts)) if not git.has(f"{sha}^{{commit}}")]


def _shas(facts: Facts) -> tuple[str, str, str]:
    """Return the merge base, the head, and the reference: the head again where no merged commit is named."""
    return facts.base, facts.head, facts.merged or facts.head


def _facts(instance: Instance) -> Facts:
    facts = instance.source.git
    assert facts is not None
    return facts


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
