"""Pull requests of a repository on this machine that has their heads as refs, read without any forge.

``git clone --mirror`` of a GitHub repository brings ``refs/pull/N/head``; so does ``git fetch origin
'+refs/pull/*/head:refs/remotes/origin/pr/*'``. Which commit merged a pull request follows from the main line's history.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from pytest_crab.errors import SourceError
from pytest_crab.parsing.descriptions import without_review
from pytest_crab.sources.git_cli import Git, GitError
from pytest_crab.sources.squashes import MERGE, SQUASH, commit_with_files, named_pull
from pytest_crab.text import split_lines

#: How a pull request was merged of which the main line has only copies.
REWRITTEN = "rewritten"

#: A repository on this machine may belong to another user.
_SAFE = {"safe.directory": "*"}
_SECONDS = 600
_REF = re.compile(r"refs/(?:pull|remotes/[^/]+/(?:pr|pull))/(\d+)(?:/head)?")
_REFS = ("refs/pull/*/head", "refs/remotes/*/pr", "refs/remotes/*/pull")
_GLOBS = ("--glob=refs/pull/*/head", "--glob=refs/remotes/*/pr/*", "--glob=refs/remotes/*/pull/*")
_BLAMED = re.compile(r"[0-9a-f]{40} \d+ \d+")
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/")
_FORMAT = "%H%x1f%P%x1f%ct%x1f%ae%x1f%at%x1f%s"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCommit:
    """One commit of the main line's history."""

    sha: str
    parents: tuple[str, ...]
    committed: int
    #: Tells it in a copy that a rebase made.
    authored: tuple[str, str, str]

    @property
    def pull(self) -> int | None:
        """The number of the pull request that the subject names as merged."""
        return named_pull(self.authored[2])

    @property
    def merged_at(self) -> datetime:
        """The time at which it came into the main line, in UTC."""
        return datetime.fromtimestamp(self.committed, timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPull:
    """A pull request in the history."""

    base: str
    head: str
    merged: str
    #: How it was merged: ``merge``, ``squash`` or ``rebase``; ``rewritten`` where the main line was rewritten after the
    #: merge, and has only copies of its base.
    how: str
    #: A time in UTC (ISO 8601).
    merged_at: str
    title: str
    body: str
    #: The e-mail address of its last commit's author.
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFix:
    """The commit that a pull request ends with after its review."""

    commit: str
    #: Files that it does not touch itself. They came in by other people's commits, such as by a merge of the main line
    #: into the pull request.
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedLine:
    """A line of a file at some commit."""

    #: The commit that wrote it.
    commit: str
    #: Its path there.
    path: str
    #: Its number there.
    line: int
    text: str


@dataclass(slots=True)
class PullRefs:
    """The pull requests of the repository in ``folder``. Raises SourceError where it is none, or has no such refs."""

    folder: Path
    _git: Git = field(init=False)
    _history: dict[str, HistoryCommit] = field(init=False, default_factory=dict)
    _named: dict[int, list[HistoryCommit]] = field(init=False, default_factory=dict)
    _merges: dict[str, HistoryCommit] = field(init=False, default_factory=dict)
    _copies: dict[tuple[str, str, str], HistoryCommit] = field(init=False, default_factory=dict)
    _originals: dict[tuple[str, str, str], str] | None = field(init=False, default=None)
    _reading: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        folder = self.folder.absolute()
        self._git = Git(folder / ".git" if (folder / ".git").is_dir() else folder)

    def heads(self, since: str | None = None) -> dict[int, str]:
        """Return the last commit of each pull request by its number; only those that were made from ``since`` on.

        Raises SourceError where there is no pull request at all.
        """
        form = "--format=%(objectname) %(committerdate:short) %(refname)"
        listed = self._run("for-each-ref", form, *_REFS)
        found, days = {}, {}
        for sha, day, name in (line.split(" ", 2) for line in split_lines(listed)):
            if match := _REF.fullmatch(name):
                found[int(match[1])], days[int(match[1])] = sha, day
        if not found:
            raise SourceError(
                f"{self.folder} has no pull requests as refs: fetch them with "
                "git fetch origin '+refs/pull/*/head:refs/remotes/origin/pr/*'"
            )
        return {number: found[number] for number in sorted(found) if since is None or days[number] >= since}

    def has(self, sha: str) -> bool:
        """Return whether the repository has a commit."""
        return self._run("cat-file", "-t", sha, fine=(0, 1, 128)).strip() == "commit"

    def rewritten(self, number: int, head: str) -> str | None:
        """Return the commit that merged a pull request whose history the main line no longer has; None if none did.

        A main line that was rewritten afterwards shares no commit with it, and neither does a part of one: a shallow
        clone tells nothing. Raises SourceError.
        """
        self._read_history()
        found = self._merge_of(number, head)
        return found[0].sha if found is not None and self._is_apart(head, found[0]) else None

    def _is_apart(self, head: str, merge: HistoryCommit) -> bool:
        whole = self._run("rev-parse", "--is-shallow-repository").strip() == "false"
        return whole and not self._run("merge-base", head, merge.sha, fine=(0, 1)).split()

    def _old_base(self, head: str, merge: HistoryCommit) -> str | None:
        """Return where a pull request begins whose history the main line no longer has.

        It is the last commit before it that has a copy, of the same author, time and subject, in the main line before
        the merge; None where there is none, or where several are last.
        """
        if not merge.parents or not self._is_apart(head, merge):
            return None
        copies = {one.authored for one in self._log(merge.parents[0])}
        commits = list(self._log(head))
        known = {one.sha for one in commits if one.authored in copies}
        edges = {parent for one in commits if one.sha not in known for parent in one.parents} & known
        last = self._run("merge-base", "--independent", *sorted(edges)).split() if edges else []
        return last[0] if len(last) == 1 else None

    def find(self, number: int, head: str, reviewed: str | None = None) -> MergedPull | None:
        """Return how a pull request with this last commit was merged; None where the history does not tell.

        ``reviewed`` is the commit that was commented on, where it is not the last one. Raises SourceError.
        """
        self._read_history()
        found = self._merge_of(number, head) or self._unnamed_squash_of(head)
        if found is None:
            return None
        merge, how = found
        start = (
            self._run("merge-base", reviewed or head, merge.parents[0], fine=(0, 1)).split() if merge.parents else []
        )
        if not start and (old := self._old_base(reviewed or head, merge)):
            start, how = [old], REWRITTEN
        if not start:
            return None
        title, body = self._texts(merge, reviewed or head)
        body = without_review(body, self._later_subjects(start[0], reviewed or head, head))
        return MergedPull(
            base=start[0],
            head=reviewed or head,
            merged=merge.sha,
            how=how,
            merged_at=merge.merged_at.isoformat().replace("+00:00", "Z"),
            title=title,
            body=body,
            author=self._run("show", "--no-patch", "--format=%ae", head, "--").strip(),
        )

    def own_fix(self, pull: MergedPull, last: str) -> OwnFix | None:
        """Return the end of a pull request's own commits, ``last`` being the last; None: nothing changed after head.

        What other people brought meanwhile, by a merge of the main line or in the place where it was merged, is no
        change of its own. Where its last commit has none, what was mended while merging counts, and then it is the
        merged commit; not where the main line was rewritten, since its commits differ in more than the pull request.
        Raises SourceError.
        """
        if pull.how == REWRITTEN:
            own = set(self._paths(pull.base, last)) | set(self._paths(pull.base, pull.head))
            return self._fix_among(pull, own, (last,))
        before = self._run("rev-parse", "--verify", "--quiet", f"{pull.merged}^1", fine=(0, 1)).strip() or pull.base
        own = set(self._paths(f"{before}...{last}")) | set(self._paths(pull.base, pull.head))
        last, edits = self._before_updates(before, last)
        reviewed, merged = self._edits(pull.base, pull.head), self._edits(before, pull.merged)
        commits = [sha for sha, its in ((last, edits), (pull.merged, merged)) if its != reviewed]
        return self._fix_among(pull, own, commits)

    def _before_updates(self, before: str, last: str) -> tuple[str, list[str]]:
        """Return a last commit without merges at its end that bring only other people's work, and its own edits."""
        edits = self._edits(f"{before}...{last}")
        while True:
            parents = self._run("rev-parse", f"{last}^@").split()
            if len(parents) < 2 or self._edits(f"{before}...{parents[0]}") != edits:
                return last, edits
            last = parents[0]

    def _edits(self, *revisions: str) -> list[str]:
        """Return the lines of a diff that stay the same wherever other people's work moves them to."""
        told = self._run(*_DIFF, "--no-renames", "--unified=0", *revisions, "--")
        return [line for line in told.split("\n") if not line.startswith(("@@", "index "))]

    def _fix_among(self, pull: MergedPull, own: set[str], commits: Sequence[str]) -> OwnFix | None:
        """Return the first of these commits that changes a pull request's own files after its head."""
        for commit in commits:
            changed = self._paths(pull.head, commit)
            if not own.isdisjoint(changed):
                return OwnFix(commit=commit, others=tuple(path for path in changed if path not in own))
        return None

    def _paths(self, *revisions: str) -> list[str]:
        return self._run("diff", "--name-only", "--no-renames", "-z", *revisions, "--").split("\0")[:-1]

    def merge_times(self) -> dict[int, datetime]:
        """Return when each pull request was merged, by its number, as far as the history tells. Raises SourceError."""
        self._read_history()
        found = {number: self._merge_of(number, head) for number, head in self.heads().items()}
        return {number: merge[0].merged_at for number, merge in found.items() if merge is not None}

    def paths(self) -> list[str]:
        """Return the path of every file on the main line. Raises SourceError."""
        return self._run("ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]

    def on_main_line(self, sha: str) -> bool:
        """Return whether a commit is part of the main line's history. Raises SourceError."""
        self._read_history()
        return sha in self._history

    def diff(self, base: str, head: str) -> str:
        """Return the git diff between two commits. Raises SourceError."""
        return self._git.run(*_DIFF, base, head, settings=_SAFE).decode("utf-8", "replace")

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file's content in a commit; None if there is none. Raises SourceError."""
        try:
            return self._git.run("cat-file", "blob", f"{commit}:{path}", settings=_SAFE)
        except GitError:
            return None

    def blame(self, commit: str, path: str, lines: Iterable[int] = (), *, main_line: bool = False) -> list[BlamedLine]:
        """Return, for these lines of a file at a commit (none: all), the commits that wrote them. Raises SourceError.

        ``main_line``: those of the main line, merges among them, that brought the lines.
        """
        spans = [part for line in sorted(lines) for part in ("-L", f"{line},{line}")]
        way = ["--first-parent"] if main_line else []
        told = self._run("blame", "--line-porcelain", *way, *spans, commit, "--", path)
        found = []
        head, name = ["", "0"], path
        for row in told.split("\n"):
            if row.startswith("\t"):
                found.append(BlamedLine(commit=head[0], path=name, line=int(head[1]), text=row[1:]))
            elif _BLAMED.match(row):
                head = row.split(" ")
            elif row.startswith("filename "):
                name = row.removeprefix("filename ")
        return found

    def introducing(self, commit: str) -> int | None:
        """Return the pull request that brought a commit into the main line; None where the history names none.

        It is the one whose squashed commit this is, or the first whose merge has it and whose main line before has it
        not, or the one of which it is a rebased copy. Raises SourceError.
        """
        self._read_history()
        known = self._history.get(commit)
        if known is None:
            return None
        if known.pull is not None:
            return known.pull
        later = self._run("rev-list", "--ancestry-path", "--topo-order", "--reverse", f"{commit}..HEAD", "--").split()
        with_it = {commit, *later}
        for sha in later:
            merge = self._history.get(sha)
            if merge is not None and merge.pull is not None and merge.parents[0] not in with_it:
                return merge.pull
        return self._pull_of_copy(known)

    def _pull_of_copy(self, commit: HistoryCommit) -> int | None:
        """Return the pull request that has a commit of the same author, time and subject."""
        if self._originals is None:
            self._originals = {one.authored: one.sha for one in self._log(*_GLOBS, "--not", "HEAD")}
        original = self._originals.get(commit.authored)
        if original is None:
            return None
        names = self._run("for-each-ref", "--format=%(refname)", "--contains", original, *_REFS).split()
        numbers = [int(match[1]) for name in names if (match := _REF.fullmatch(name))]
        return min(numbers, default=None)

    def _merge_of(self, number: int, head: str) -> tuple[HistoryCommit, str] | None:
        """Return the commit that brought a pull request into the main line, and which kind of merge it was."""
        if merge := self._merges.get(head):
            return merge, "merge"
        named = self._named.get(number, [])
        for commit in named:
            if len(commit.parents) > 1:
                return commit, "merge"
        if head in self._history:
            return None  # it was pushed as it is: no commit of the main line says where it began
        if named:
            return named[-1], "squash"
        copy = self._copies.get(self._authorship(head))
        return (copy, "rebase") if copy is not None else None

    def _unnamed_squash_of(self, head: str) -> tuple[HistoryCommit, str] | None:
        """Return the commit whose message does not name a pull request, and which has its files all the same."""
        base = [] if head in self._history else self._run("merge-base", head, "HEAD", fine=(0, 1)).split()
        found = commit_with_files(self._git, "HEAD", base[0], head) if base else None
        commit = None if found is None else self._history[found]
        return None if commit is None or commit.pull is not None else (commit, "squash")

    def _authorship(self, sha: str) -> tuple[str, str, str]:
        email, time, subject = (
            self._run("show", "--no-patch", "--format=%ae%x1f%at%x1f%s", sha, "--").strip().split("\x1f")
        )
        return email, time, subject

    def _texts(self, merge: HistoryCommit, head: str) -> tuple[str, str]:
        """Return title and description from the merge's message, else from the message of the commit ``head``.

        ``head`` is the reviewed commit: the message of a later one would tell the reviewer what was mended.
        """
        named = merge.pull is not None
        message = self._run("show", "--no-patch", "--format=%B", merge.sha if named else head, "--").strip()
        subject, _, rest = message.partition("\n")
        if MERGE.match(subject):
            subject, _, rest = rest.strip().partition("\n")
            if not subject.strip():
                subject = self._run("show", "--no-patch", "--format=%s", head, "--").strip()
        return SQUASH.sub("", subject).strip(), rest.strip()

    def _later_subjects(self, base: str, reviewed: str, last: str) -> set[str]:
        """Return the subjects of commits after the reviewed one that no earlier commit of the pull request has."""
        after, before = (
            self._run("log", "--format=%s", span, "--") for span in (f"{reviewed}..{last}", f"{base}..{reviewed}")
        )
        return set(split_lines(after)) - set(split_lines(before))

    def _read_history(self) -> None:
        with self._reading:
            if not self._history:
                self._index_history()

    def _index_history(self) -> None:
        for commit in self._log("HEAD"):
            self._history[commit.sha] = commit
            if commit.pull is not None:
                self._named.setdefault(commit.pull, []).append(commit)
            if len(commit.parents) > 1:
                self._merges.update(dict.fromkeys(commit.parents[1:], commit))
            self._copies[commit.authored] = commit

    def _log(self, *revisions: str) -> Iterator[HistoryCommit]:
        """Yield the commits of these revisions, the newest first."""
        for line in self._run("log", f"--format={_FORMAT}", *revisions, "--").split("\n"):
            if line:
                sha, parents, committed, email, authored, subject = line.split("\x1f", 5)
                yield HistoryCommit(
                    sha=sha,
                    parents=tuple(parents.split()),
                    committed=int(committed),
                    authored=(email, authored, subject),
                )

    def _run(self, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        found = self._git.run(*arguments, settings=_SAFE, seconds=_SECONDS, fine=fine)
        return found.decode("utf-8", "replace")
