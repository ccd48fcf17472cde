"""A repository on this machine, and trees that are made of its commits beside it: nothing is written into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.errors import DiffRejected
from pytest_crab.scratch import scratch
from pytest_crab.sources.git_cli import Git, GitError, create, lend
from pytest_crab.sources.git_trees import content
from pytest_crab.sources.pull_refs import BlamedLine, PullRefs
from pytest_crab.sources.snapshot import DIFF, apply

_SAFE = {"safe.directory": "*"}
_SECONDS = 600
_FORMAT = "%H%x1f%P%x1f%T%x1f%ct%x1f%cs%x1f%ae%x1f%B%x1e"
_NUMBER = re.compile(r"(?:^Merge pull request #(\d+)\b|\(#(\d+)\)$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of the main line: from its parent there to ``commit``. ``day`` is when it came, ``message`` is whole."""

    commit: str
    parent: str
    tree: str
    seconds: int
    day: str
    author: str
    message: str

    @property
    def number(self) -> int | None:
        """The number of the pull request that the subject names."""
        match = _NUMBER.search(self.message.partition("\n")[0].strip())
        return int(match[1] or match[2]) if match else None

    @property
    def texts(self) -> tuple[str, str]:
        """Title and description: of a merge those of its pull request, as far as the message has them."""
        subject, _, rest = self.message.strip().partition("\n")
        if subject.startswith("Merge pull request #") and rest.strip():
            subject, _, rest = rest.strip().partition("\n")
        return re.sub(r"\s*\(#\d+\)$", "", subject).strip(), rest.strip()


@dataclass(slots=True, kw_only=True)
class Repository:
    """The repository in ``folder``; ``work`` borrows its objects and holds the trees that are made here."""

    folder: Path
    work: Git
    _refs: PullRefs = field(init=False)

    def __post_init__(self) -> None:
        self._refs = PullRefs(self.folder)

    def main_line(self) -> list[Change]:
        """Return the steps of the main line, the newest first; the first commit of all is none. Raises SourceError."""
        told = self._run("log", "--first-parent", f"--format={_FORMAT}", "HEAD", "--")
        return list(_changes(told))

    def all_changed(self, line: Sequence[Change]) -> list[dict[str, str]]:
        """Return by path git's letter of each file that each step changes (A, D, M, T). Raises SourceError."""
        told = self._run(
            "log", "--first-parent", "-m", "-r", "-z", "--name-status", "--no-renames", "--format=%x1e%H", "HEAD", "--"
        )
        found: dict[str, dict[str, str]] = {}
        for entry in told.split("\x1e")[1:]:
            commit, *parts = entry.strip("\0").replace("\n", "").split("\0")
            parts = [part for part in parts if part]
            found[commit] = dict(zip(parts[1::2], parts[::2], strict=False))
        return [found.get(change.commit, {}) for change in line]

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
        with self.work.with_index(onto) as indexed:
            try:
                indexed.run(
                    "apply",
                    "--cached",
                    "--3way",
                    "--whitespace=nowarn",
                    "-",
                    stdin=diff.encode("utf-8", "surrogateescape"),
                )
                return indexed.line("write-tree")
            except GitError as error:
                raise DiffRejected(error.words) from None

    def with_files(self, tree: str, texts: Mapping[str, str | None]) -> str:
        """Return a tree with these files in it; None takes one out."""
        with self.work.with_index(tree) as indexed:
            for path, text in texts.items():
                gone = text is None
                blob = "0" * 40 if gone else indexed.line("hash-object", "-w", "--stdin", stdin=(text or "").encode())
                entry = f"{'0' if gone else '100644'} {blob}\t{path}\0"
                indexed.run("update-index", "-z", "--index-info", stdin=entry.encode())
            return indexed.line("write-tree")

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
    """Yield the repository in ``folder``; what is made of it goes with the context."""
    place = folder.absolute()
    own = place / ".git" if (place / ".git").is_dir() else place
    with scratch("inject") as aside:
        work = create(aside / "work.git")
        lend(str(own / "objects"), work)
        head = Git(own).run("rev-parse", "HEAD", settings=_SAFE).decode().strip()
        work.run("update-ref", "refs/heads/main", head)
        yield Repository(folder=place, work=work)


def _changes(told: str) -> Iterator[Change]:
    for entry in told.split("\x1e"):
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
