"""The trees of one instance in two bare repositories: what contestants may see, and the rest."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.errors import DiffRejected, SourceError
from pytest_crab.protocols import FileChange, Snapshot
from pytest_crab.sources import branches, folders, revision_limits
from pytest_crab.sources.git_cli import Git, GitError, GitSlow, create_checkout
from pytest_crab.sources.git_trees import changed_files, content, files_at, tree_of
from pytest_crab.sources.room import require_room

_LINK = "120000"
#: What git says where it cannot read its own objects, and now and then of a diff: it is then looked at whether it can.
_OF_OBJECTS = re.compile(r"object|packfile|inflate|unable to read|read of .* failed|not a tree|cache entry")
_FSCK_SECONDS = 900
DIFF = (
    *("diff-tree", "-p", "-r", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers"),
)


@dataclass(frozen=True, slots=True)
class GitSnapshot(Snapshot):
    """A Snapshot (see protocols) on two bare repositories in ``folder``; any number of threads may use it."""

    folder: Path
    base: str
    head: str
    base_tree: str
    head_tree: str
    reference_tree: str
    base_branch: str = field(default="main", compare=False)

    @property
    def public(self) -> Git:
        """The repository that contestants see: two commits, and no other object."""
        return Git(self.folder / "public.git")

    @property
    def private(self) -> Git:
        """The repository of the reference and the trees of revisions; it borrows the public objects."""
        return Git(self.folder / "private.git")

    def pull_request_diff(self) -> str:
        """Return the git diff from base to head for reading: bytes that are not UTF-8 are replaced."""
        return _diff_to_read(self.public, self.base_tree, self.head_tree)

    def apply(self, diff: str, onto: str | None = None) -> str:
        """Return the tree that ``diff`` makes of ``onto`` (head if None). Raises DiffRejected with git's own words."""
        with self._sound():
            onto = onto or self.head_tree
            tree = apply(self.private, diff, onto)
            revision_limits.require_modest_diff(self.private, self.head_tree, tree, diff, onto)
            return tree

    def changes(self, tree: str) -> tuple[FileChange, ...]:
        """Return the file changes from the head tree to ``tree``, sorted by path; submodules are left out."""
        if tree == self.head_tree:
            return ()
        with self.private.reading() as repository:
            head, other = tree_of(repository, self.head_tree), tree_of(repository, tree)
            return tuple(
                FileChange(
                    path=change.path, mode=change.mode, content=change.new.data_stream.read() if change.new else None
                )
                for change in changed_files(head, other)
                if not change.is_submodule
            )

    def diff(self, tree: str, since: str | None = None) -> str:
        """Return the git diff from the tree ``since`` (head) to ``tree``, which ``apply`` takes.

        Bytes of text that are not UTF-8 are surrogates in it. Raises DiffRejected for a tree whose diff takes too much
        to make.
        """
        before = since or self.head_tree
        try:
            diff = self.private.run(*DIFF, "--no-renames", "--ignore-submodules=all", before, tree)
            return diff.decode("utf-8", "surrogateescape")
        except GitSlow:
            raise
        except GitError as error:
            # What git says holds the contestant's names, so it tells nothing of the cause.
            self._require_whole(before, tree)
            message = f"the revision cannot be written as a diff: {error}"
            raise DiffRejected(message) from None

    def read(self, tree: str, path: str) -> bytes | None:
        """Return a file's content in ``tree`` (of a link: its target); None if there is no such file."""
        if not diffs.is_inside(path):
            return None
        return content(self.private, tree, path)

    @override
    def files_at(self, tree: str, path: str) -> Mapping[str, bytes]:
        return files_at(self.private, tree, path)

    @override
    def links(self, tree: str) -> Mapping[str, str]:
        lines = self.private.run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]
        pairs = (line.split(b"\t", 1) for line in lines if line.startswith(f"{_LINK} ".encode()))
        return {
            os.fsdecode(path): os.fsdecode(content(self.private, tree, os.fsdecode(path)) or b"") for _, path in pairs
        }

    @override
    def tracked(self) -> frozenset[str]:
        return folders.paths(self.private, self.head_tree)

    @property
    @override
    def refs(self) -> frozenset[str]:
        return branches.refs(self.base_branch)

    @override
    def clone(self, folder: Path) -> None:
        """Objects are copied, never linked: whoever owns the checkout may write to them."""
        git = create_checkout(folder)
        shutil.copytree(self.public.folder / "objects", git.folder / "objects", dirs_exist_ok=True)
        branches.make_branches(git, self.base, self.head, self.base_branch)
        git.run("read-tree", "-u", "--reset", self.head, cwd=folder)

    @override
    def record(self, folder: Path, *, left: Collection[str] = ()) -> str:
        with self._sound():
            return folders.record(self.private, folder, self.head_tree, left)

    @override
    def damage(self) -> str | None:
        """Files that are as they were are no damage where git merely dislikes something in them."""
        return self._damage_of(self.head, self.reference_tree)

    def _damage_of(self, *objects: str) -> str | None:
        whole = ("fsck", "--full", "--no-dangling", "--no-progress", *objects)
        try:
            self.private.run(*whole, seconds=_FSCK_SECONDS)
        except GitError as error:
            return None if error.words.startswith(("error in ", "warning in ", "it took longer")) else error.words
        return None

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Raise SourceError instead of DiffRejected where the repository is damaged: git's words alone do not tell."""
        try:
            yield
        except DiffRejected as error:
            if _OF_OBJECTS.search(str(error)):
                self._require_whole()
            raise

    def _require_whole(self, *trees: str) -> None:
        """Raise SourceError if the repository is damaged, or one of some more trees in it."""
        damage = self._damage_of(self.head, self.reference_tree, *trees)
        if damage is not None:
            raise SourceError(f"what is kept of the trees in {self.folder} is damaged ({damage})") from None


@functools.lru_cache(maxsize=8)
def _diff_to_read(git: Git, base: str, head: str) -> str:
    """Return the diff between two trees, made once for the trials of an instance that follow each other."""
    diff = git.run(*DIFF, "--find-renames=50%", "-l1000", base, head)
    return diff.decode("utf-8", "replace")


def apply(git: Git, diff: str, onto: str, *options: str) -> str:
    """Return the tree that ``diff`` makes of ``onto``: on an index, so that no link or path leads out of the tree.

    An empty diff changes nothing; ``options`` are git's own. Raises DiffRejected with git's own words, and SourceError
    where it was not the diff but this machine that kept git from it.
    """
    text = diffs.normalise(diff)
    if not text:
        return onto
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        message = "the diff holds characters that no file can hold"
        raise DiffRejected(message) from None
    with git.with_index(onto) as indexed:
        assert indexed.index is not None
        try:
            indexed.run("apply", "--cached", "--whitespace=nowarn", "-p1", *options, "-", stdin=data)
            return indexed.line("write-tree")
        except GitSlow:
            raise
        except GitError as error:
            require_room(git.folder / "objects", indexed.index.parent, size=2 * len(data))
            raise DiffRejected(error.words) from None
