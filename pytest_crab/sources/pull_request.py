"""Find the commits of a pull request in the history of its repository."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pytest_crab.errors import SourceError, SourceUnreachable
from pytest_crab.git_mirror import MIRROR, is_local, places
from pytest_crab.parsing.descriptions import without_review
from pytest_crab.sources import partial_clone
from pytest_crab.sources.git import ask, locked_cache
from pytest_crab.sources.git_cli import Commit, Git, GitError, Repo
from pytest_crab.sources.git_trees import changed_files
from pytest_crab.sources.squashes import MERGE, SQUASH, commit_with_files, named_pull
from pytest_crab.text import split_lines

_SECONDS = 1800
_ANSWER_SECONDS = 60
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-recurse-submodules")
_ONTO = "refs/crab/onto"
_SHA = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestQuery:
    """A pull request to find: its repository, and its number or reviewed head; other commits only where they are known.

    Shas may be abbreviated.
    """

    url: str
    number: int | None = None
    base: str | None = None
    head: str | None = None
    merged: str | None = None
    #: A repository on this machine to read instead of a mirror or the URL.
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestHistory:
    """A pull request found in the history: full shas, and texts from the commits' messages."""

    base: str
    head: str
    merged: str
    title: str
    body: str
    merged_at: str | None
    #: Those between base and the last of the pull request, oldest first, as (sha, subject).
    commits: tuple[tuple[str, str], ...]
    #: The files that it changes, of which there is at least one.
    paths: tuple[str, ...]


def find_pull(wanted: PullRequestQuery, cache: Path) -> PullRequestHistory:
    """Find the commits, and fetch their content into ``cache``.

    Raises SourceUnreachable where no place answers, and SourceError, naming the option to set, where the history does
    not tell a commit.
    """
    with locked_cache(wanted.url, cache, "histories") as git:
        place = _bring_history(git, wanted)
        with git.reading() as repository:
            pull = _read(repository, git, wanted)
    shas = list(dict.fromkeys((pull.base, pull.head, pull.merged)))
    with locked_cache(wanted.url, cache) as git:
        missing = [sha for sha in shas if not git.has(f"{sha}^{{commit}}")]
        if missing:
            try:
                ask(git, *_FETCH, "--depth=1", "--", place, *missing, seconds=_SECONDS, local=is_local(place))
            except GitError as error:
                if is_local(place) and partial_clone.is_partial(error):
                    partial_clone.borrow(git, Path(place))
                if not all(git.has(f"{sha}^{{commit}}") for sha in missing):
                    raise SourceError(f"{place} does not give {', '.join(missing)} ({error.words})") from None
    return pull


def _bring_history(git: Git, wanted: PullRequestQuery) -> str:
    """Fetch the main line and the pull request from the first place that answers; return the place."""
    heard = []
    for place in [wanted.place] if wanted.place else places(wanted.url):
        local = is_local(place)
        if local and not Path(place).is_dir():
            heard.append(f"{place} (there is no such folder)")
            continue
        try:
            listed = ask(git, "ls-remote", "--quiet", "--", place, seconds=_ANSWER_SECONDS, local=local).decode()
            refs = {name: sha for sha, name in (line.split("\t") for line in split_lines(listed))}
            _fetch_or_borrow(git, place, refs, wanted, local=local)
        except GitError as error:
            heard.append(f"{place} ({error.words})")
            continue
        if wanted.number is not None and not wanted.head and not git.has(_tip(wanted)):
            raise SourceError(f"{place} has no pull request {wanted.number}; name its reviewed commit with --head")
        return place
    raise SourceUnreachable(
        f"{wanted.url} cannot be reached: set {MIRROR} to a folder or URL prefix that holds it, or name a repository "
        f"on this machine (no answer from {', '.join(heard)})"
    )


def _tip(wanted: PullRequestQuery) -> str:
    """Return the local ref of the pull request's last commit."""
    return f"refs/crab/pull/{wanted.number}"


def _fetch_or_borrow(git: Git, place: str, refs: Mapping[str, str], wanted: PullRequestQuery, *, local: bool) -> None:
    """Fetch whole histories; from a mirror on this machine that lacks files, which gives none, read its own objects."""
    try:
        _fetch(git, place, list(_specs(refs, wanted)), local=local)
    except GitError as error:
        if not local or not partial_clone.is_partial(error):
            raise
        partial_clone.borrow(git, Path(place))
        git.run("update-ref", _ONTO, refs["HEAD"])
        if (tip := refs.get(_pull(wanted))) is not None:
            git.run("update-ref", _tip(wanted), tip)


def _pull(wanted: PullRequestQuery) -> str:
    """Return the forge's ref of the pull request's last commit."""
    return f"refs/pull/{wanted.number}/head"


def _specs(refs: Container[str], wanted: PullRequestQuery) -> Iterator[str]:
    yield f"+HEAD:{_ONTO}"
    if _pull(wanted) in refs:
        yield f"+{_pull(wanted)}:{_tip(wanted)}"
    else:
        yield "+refs/heads/*:refs/crab/heads/*"
    yield from (sha for sha in (wanted.base, wanted.head, wanted.merged) if sha and len(sha) == 40)


def _fetch(git: Git, place: str, specs: list[str], *, local: bool) -> None:
    """Fetch whole histories; from afar without the files, if that place can."""
    if not local:
        try:
            ask(git, *_FETCH, "--filter=blob:none", "--", place, *specs, seconds=_SECONDS)
        except GitError:
            pass  # not every server filters; the next line says what else is the matter
        else:
            return
    try:
        ask(git, *_FETCH, "--", place, *specs, seconds=_SECONDS, local=local)
    except GitError:
        named = [spec for spec in specs if ":" in spec]  # a sha that is not there spoils all; it is missed later
        ask(git, *_FETCH, "--", place, *named, seconds=_SECONDS, local=local)


def _read(repository: Repo, git: Git, wanted: PullRequestQuery) -> PullRequestHistory:
    tip = git.line("rev-parse", _tip(wanted)) if git.has(_tip(wanted)) else None
    head = _commit(git, wanted.head, "--head") if wanted.head else tip
    if head is None:
        raise SourceError(f"{wanted.url}: name the reviewed commit with --head")
    tip = tip or head
    line = git.line("rev-list", "--first-parent", _ONTO).split()
    merged = _commit(git, wanted.merged, "--merged") if wanted.merged else _merge_commit(git, line, wanted, tip)
    base = _commit(git, wanted.base, "--base") if wanted.base else _base(git, line, head)
    commits = tuple(_commits(repository, git, base, tip if _is_ancestor(git, head, tip) else head))
    paths = _changed_paths(repository, base, head)
    if not paths:
        raise SourceError(f"{head[:12]} changes nothing on {base[:12]}; --base and --head should be checked")
    if not _changed_paths(repository, head, merged, *paths):
        told = ", ".join(f"{sha[:10]} ({subject[:50]})" for sha, subject in commits if sha != head)
        earlier = f", one of {told}" if told else ""
        raise SourceError(
            f"nothing that the pull request touches changed between {head[:12]} and {merged[:12]}, so no comment was "
            f"resolved: name the commit that was commented on with --head{earlier}"
        )
    own = None if _is_later(git, base, head, merged) else merged
    title, body = _texts(repository, own, wanted.number, commits)
    known = [sha for sha, _ in commits]
    later = commits[known.index(head) + 1 :] if head in known else ()
    return PullRequestHistory(
        base=base,
        head=head,
        merged=merged,
        title=title,
        body=without_review(body, {subject for _, subject in later}),
        merged_at=_day(repository, _first_containing(git, line, merged)),
        commits=commits,
        paths=tuple(paths),
    )


def _commit(git: Git, name: str, option: str) -> str:
    if not _SHA.fullmatch(name):
        raise SourceError(
            f"{option} is {name!r}; it should be a commit's sha, of at least 7 digits, which git "
            "rev-parse prints for a tag or a branch"
        )
    try:
        return git.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        raise SourceError(f"{option} is {name}, which is no commit of this repository that can be fetched") from None


def _merge_commit(git: Git, line: Sequence[str], wanted: PullRequestQuery, tip: str) -> str:
    """Return the main line's commit that merged the pull request: by its history, by its number or by its files."""
    brought = _first_containing(git, line, tip)
    if brought is not None and brought != tip:
        return brought
    if wanted.number is not None:
        log = git.run("log", "--first-parent", "--format=%H%x09%s", _ONTO).decode("utf-8", "replace")
        for told in split_lines(log):
            sha, _, subject = told.partition("\t")
            if named_pull(subject) == wanted.number:
                return sha
    found = None if brought else commit_with_files(git, _ONTO, _base(git, line, tip), tip)
    if found is None or (
        wanted.number is not None and named_pull(git.line("log", "-1", "--format=%s", found)) is not None
    ):
        raise SourceError(
            "what was merged cannot be found in the main line's history; name the commit in which the comments are "
            "resolved with --merged"
        )
    return found


def _is_later(git: Git, base: str, head: str, merged: str) -> bool:
    """Return whether a pull request had been merged before this commit, which is of a later one that mends it then."""
    before = f"{merged}^1"
    return _is_ancestor(git, head, before) or (
        git.has(before) and commit_with_files(git, before, base, head) is not None
    )


def _base(git: Git, line: Sequence[str], head: str) -> str:
    """Return the merge base of the pull request and the main line before the merge."""
    brought = _first_containing(git, line, head)
    try:
        return git.line("merge-base", head, f"{brought}^1" if brought else _ONTO)
    except GitError:
        raise SourceError(f"{head[:12]} has no ancestor in common with the main line; name one with --base") from None


def _first_containing(git: Git, line: Sequence[str], commit: str) -> str | None:
    """Return the oldest commit of the main line, newest first, that has ``commit`` in its history; None if none has."""
    if commit in line:
        return commit
    if not _is_ancestor(git, commit, _ONTO):
        return None
    later = set(git.line("rev-list", "--ancestry-path", f"{commit}..{_ONTO}").split())
    return [sha for sha in line if sha in later][-1]


def _is_ancestor(git: Git, one: str, other: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", one, other)
    except GitError:
        return False
    return True


def _commits(repository: Repo, git: Git, base: str, tip: str) -> Iterator[tuple[str, str]]:
    for name in git.run("rev-list", "--reverse", f"{base}..{tip}", "--").decode().split():
        subject = _message(repository.commit(name)).partition("\n\n")[0]
        yield name, " ".join(subject.split())


def _message(commit: Commit) -> str:
    """Return a commit's message; bytes that are not of its encoding are replaced."""
    message = commit.message
    return (message if isinstance(message, str) else message.decode("utf-8", "replace")).strip()


def _changed_paths(repository: Repo, one: str, other: str, *paths: str) -> list[str]:
    """Return the files that differ between two commits, of all or of these."""
    trees = (repository.commit(sha).tree for sha in (one, other))
    return [change.path for change in changed_files(*trees) if change.path in paths or not paths]


def _texts(
    repository: Repo, merged: str | None, number: int | None, commits: tuple[tuple[str, str], ...]
) -> tuple[str, str]:
    """Return title and description from the message of its own merge, else from the first commit's subject.

    The message of a merge of something else would tell the reviewer what was mended.
    """
    message = _message(repository.commit(merged)) if merged is not None else ""
    subject, _, rest = message.partition("\n")
    named = named_pull(subject)
    if named is None or named != (number or named):
        subject, rest = (commits[0][1] if commits else ""), ""
    elif MERGE.match(subject):
        subject, _, rest = rest.strip().partition("\n")
    return SQUASH.sub("", subject).strip(), rest.strip()


def _day(repository: Repo, brought: str | None) -> str | None:
    if brought is None:
        return None
    seconds = repository.commit(brought).committed_date
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()
