"""Limit the size of a revision's changed files before any of them is read."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence

from pytest_crab.diffs import MOST_MIB_CHANGED
from pytest_crab.errors import DiffRejected
from pytest_crab.instances.files import FolderEntry
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.git_trees import changed_files, tree_of

_MOST = MOST_MIB_CHANGED << 20

#: What in a diff can make a tree larger than the diff is long.
_MULTIPLIES = re.compile("^(copy|rename|GIT binary patch)", re.MULTILINE)

#: Bytes that one character may take.
_MOST_BYTES = 4


def require_modest_files(git: Git, before: str, files: Sequence[FolderEntry]) -> None:
    """Raise DiffRejected if files are too much that are new, or of another size than in ``before``; none is read."""
    if sum(file.size for file in files) <= _MOST:
        return
    lines = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", before).split(b"\0")[:-1]
    known = {os.fsdecode(path): facts.split()[3] for facts, path in (line.split(b"\t", 1) for line in lines)}
    require_modest_sizes(file.size for file in files if known.get(file.path) != b"%d" % file.size)


def require_modest_diff(git: Git, before: str, after: str, diff: str, onto: str) -> None:
    """Do what ``require_modest`` does for a tree that ``diff`` made of ``onto``, and look at no file without need.

    A diff that neither copies files nor has compressed parts makes a tree larger by its own length at most.
    """
    if _MULTIPLIES.search(diff) or _size_of(git, onto) + _MOST_BYTES * len(diff) > _MOST:
        require_modest(git, before, after)


@functools.lru_cache(maxsize=8)
def _size_of(git: Git, tree: str) -> int:
    """Return how many bytes the files of a tree have together."""
    lines = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree).split(b"\0")[:-1]
    sizes = (line.split(b"\t", 1)[0].split()[3] for line in lines)
    return sum(int(size) for size in sizes if size != b"-")  # of a submodule


def require_modest(git: Git, before: str, after: str) -> None:
    """Raise DiffRejected if the files of ``after`` that are not those of ``before`` are too much together."""
    with git.reading() as repository:
        found = changed_files(tree_of(repository, before), tree_of(repository, after))
        require_modest_sizes(change.new.size for change in found if change.new is not None and not change.is_submodule)


def require_modest_sizes(sizes: Iterable[int]) -> None:
    """Raise DiffRejected if what a revision changes has more bytes together than it may."""
    size = sum(sizes)
    if size > _MOST:
        message = f"it changes {size >> 20} MiB; a revision may change {MOST_MIB_CHANGED}"
        raise DiffRejected(message)
