"""A repository on this machine, and trees that are made of its commits beside it: nothing is written into it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.errors import SourceError
from pytest_crab.lazy import lazy
from pytest_crab.parsing.descriptions import without_review
from pytest_crab.scratch import scratch
from pytest_crab.sources.git_cli import Git, create, lend
from pytest_crab.sources.git_trees import content
from pytest_crab.sources.pull_refs import BlamedLine, PullRefs
from pytest_crab.sources.remotes import ask, git_folder
from pytest_crab.sources.snapshot import DIFF, apply
from pytest_crab.sources.squashes import SQUASH, named_pull
from pytest_crab.text import one_line

_SAFE = {"safe.directory": "*"}
_SECONDS = 600
_OLDEST_GIT = (2, 32)
_FORMAT = "%H%x1f%P%x1f%T%x1f%ct%x1f%cs%x1f%ae%x1f%B"
#: The subjects of merges that forges write, whose body is that of the pull request, and those that git writes.
_OF_FORGE = re.compile(r"Merge pull request #\d+\b.*|Merged in \S+ \(pull request #\d+\)|Merge commit from fork")
_OF_GIT = re.compile(r"Merge (?:remote-tracking )?branch(?:es)? .*")
_LONGEST_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of the main line: from its parent there to ``commit``."""

    commit: str
    parent: str
    tree: str
    seconds: int
    #: When it came.
    day: str
    author: str
    #: The whole message.
    message: str
    #: The messages of the commits that a merge with a subject of a forge or of git brought, the oldest first.
    brought: tuple[str, ...] = ()

    @property
    def number(self) -> int | None:
        """The number of the pull request that the subject names."""
        return named_pull(self.message.partition("\n")[0].strip())

    @property
    def texts(self) -> tuple[str, str]:
        """Title and description; of a merge those of its pull request, else of the commit that it brought.

        Nothing in them tells of a review. Both are empty where nothing but the name of a branch is known.
        """
        subject, _, rest = self.message.strip().partition("\n")
        told = without_review(rest)
        if _OF_FORGE.fullmatch(subject.strip()):
            subject, told = _titled(told or without_review(next(iter(self.brought), "")))
        elif _OF_GIT.fullmatch(subject.strip()):
            subject, told = _titled(without_review(self.brought[0]) if len(self.brought) == 1 else "")
        return SQUASH.sub("", subject).strip(), told


def _titled(words: str) -> tuple[str, str]:
    """Return the title of a text, and the rest; a text that begins with a paragraph of several lines stays whole."""
    first, _, rest = words.partition("\n")
    if not rest.strip() or rest.startswith("\n"):
        return first.strip(), rest.strip()
    return one_line(words.partition("\n\n")[0], _LONGEST_TITLE), words


@dataclass(kw_only=True)
class Repository:
    """The repository in ``folder``."""

    folder: Path
    #: Borrows its objects and holds the trees that are made here.
    work: Git
    _refs: PullRefs = field(init=False)

    def __post_init__(self) -> None:
        self._refs = PullRefs(self.folder)

    @lazy
    def line(self) -> list[Change]:
        """The steps of the main line, the newest first; the first commit of all is none.

        Raises SourceError, for a repository with one commit too.
        """
        told = self._run("log", "-z", "--first-parent", f"--format={_FORMAT}", "HEAD", "--")
        line = [self._with_brought(change) for change in _changes(told)]
        if not line:
            raise SourceError(f"{self.folder} has no commit but its first: name a repository with a history")
        return line

    def _with_brought(self, change: Change) -> Change:
        subject = change.message.strip().partition("\n")[0].strip()
        if not (_OF_FORGE.fullmatch(subject) or _OF_GIT.fullmatch(subject)):
            return change
        arguments = ["log", "-z", "--reverse", "--no-merges", "--format=%B", f"{change.parent}..{change.commit}", "--"]
        told = [message for message in self._run(*arguments).split("\0") if message.strip()]
        return dataclasses.replace(change, brought=tuple(message for message in told if message != change.message))

    @lazy
    def changed(self) -> list[dict[str, str]]:
        """By step of the main line and by path, git's letter of a changed file (A, D, M, T). Raises SourceError."""
        told = self._run(
            "log", "--first-parent", "-m", "-r", "-z", "--name-status", "--no-renames", "--format=%x1e%H", "HEAD", "--"
        )
        found: dict[str, dict[str, str]] = {}
        for entry in told.split("\x1e")[1:]:
            commit, *parts = entry.strip("\0").replace("\n", "").split("\0")
            parts = [part for part in parts if part]
            found[commit] = dict(zip(parts[1::2], parts[::2], strict=False))
        return [found.get(change.commit, {}) for change in self.line]

    def is_ancestor(self, one: str, other: str) -> bool:
        """Return whether the second commit has the first in its history. Raises SourceError."""
        return not self._run("rev-list", "--max-count=1", one, f"^{other}", "--").strip()

    def tree(self, commit: str) -> str:
        """Return the tree of a commit. Raises SourceError."""
        return self._run("rev-parse", f"{commit}^{{tree}}").strip()

    def read(self, tree: str, path: str) -> str | None:
        """Return a file's text in a tree; None if there is none, or it is no text. Raises SourceError."""
        found = content(self.work, tree, path)
        try:
            return None if found is None else found.decode()
        except UnicodeDecodeError:
            return None

    def diff(self, one: str, other: str, paths: Sequence[str] = ()) -> str:
        """Return the git diff between two trees or commits, of some files alone if they are named."""
        limited = ["--", *paths] if paths else []
        return self.work.run(*DIFF, "--no-renames", one, other, *limited).decode("utf-8", "surrogateescape")

    def apply(self, diff: str, onto: str) -> str:
        """Return the tree that a diff makes of a tree. Raises DiffRejected."""
        return apply(self.work, diff, onto)

    def merge(self, diff: str, onto: str) -> str:
        """Return the tree that a diff makes of a tree, by a merge of three sides. Raises DiffRejected on a conflict."""
        return apply(self.work, diff, onto, "--3way")

    def with_files(self, tree: str, texts: Mapping[str, str | None]) -> str:
        """Return a tree with these files in it; None takes one out. A file that is there keeps its mode."""
        with self.work.with_index(tree) as indexed:
            for path, text in texts.items():
                gone = text is None
                blob = "0" * 40 if gone else indexed.line("hash-object", "-w", "--stdin", stdin=(text or "").encode())
                there = indexed.run("ls-tree", "-z", "--full-tree", tree, path).decode("utf-8", "replace")
                mode = "0" if gone else there.partition(" ")[0] or "100644"
                entry = f"{mode} {blob}\t{path}\0"
                indexed.run("update-index", "-z", "--index-info", stdin=entry.encode())
            return indexed.line("write-tree")

    def missing(self, commit: str) -> SourceError:
        """Return the error on a commit that was on the main line when faults were listed."""
        return SourceError(
            f"the main line of {self.folder} has no {commit[:10]} now: check its branch out, and run again"
        )

    def paths(self, tree: str) -> list[str]:
        """Return the path of every file of a tree."""
        told = self.work.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
        return told.decode("utf-8", "surrogateescape").split("\0")[:-1]

    def blame(self, commit: str, path: str, lines: Sequence[int] = (), *, main_line: bool = False) -> list[BlamedLine]:
        """Return, for lines of a file at a commit (none: all), the commits that wrote them. Raises SourceError.

        ``main_line``: those of the main line that brought the lines.
        """
        return self._refs.blame(commit, path, lines, main_line=main_line)

    def _run(self, *arguments: str) -> str:
        return self.work.run(*arguments, settings=_SAFE, seconds=_SECONDS).decode("utf-8", "replace")


@contextmanager
def open_repository(folder: Path) -> Iterator[Repository]:
    """Yield the repository in ``folder``; what is made of it goes with the context.

    Raises SourceError, for a shallow clone and an old git too.
    """
    own = git_folder(folder)
    with scratch("inject") as aside:
        work = create(aside / "work.git")
        _require_merge(work.line("version"))
        if ask(folder, "rev-parse", "--is-shallow-repository") == "true":
            raise SourceError(f"{folder} has the end of its history alone: run git fetch --unshallow in it")
        lend(str(own / "objects"), work)
        work.run("update-ref", "refs/heads/main", ask(folder, "rev-parse", "HEAD"))
        yield Repository(folder=own, work=work)


def _require_merge(version: str) -> None:
    """Raise SourceError for a git that cannot apply a diff to an index by a merge of three sides."""
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < _OLDEST_GIT:
        raise SourceError(
            f"{version} is too old for set inject: install git {'.'.join(map(str, _OLDEST_GIT))} or later"
        )


def _changes(told: str) -> Iterator[Change]:
    for entry in told.split("\0"):
        if entry.strip():
            commit, parents, tree, seconds, day, author, message = entry.strip("\n").split("\x1f", 6)
            if parents:
                yield Change(
                    commit=commit,
                    parent=parents.split()[0],
                    tree=tree,
                    seconds=int(seconds),
                    day=day,
                    author=author,
                    message=message,
                )
