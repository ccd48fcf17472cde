"""Read trees and files of a repository through GitPython."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab.sources.git_cli import Blob, Git, Item, Repo, Tree

_SUBMODULE = 0o160000
_LINK = 0o120000
#: As many as Linux follows.
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees."""

    path: str
    #: None where there is no file.
    old: Item | None
    #: The same.
    new: Item | None

    @property
    def mode(self) -> str:
        """The file's mode as present git writes it; that of the old file where it is deleted."""
        known = self.new or self.old
        assert known is not None
        if known.mode in (_LINK, _SUBMODULE):
            return f"{known.mode:o}"
        return "100755" if known.mode & 0o100 else "100644"

    @property
    def is_submodule(self) -> bool:
        """True if the path is a submodule in one of the trees."""
        return any(item is not None and item.mode == _SUBMODULE for item in (self.old, self.new))


def tree_of(repository: Repo, name: str) -> Tree:
    """Return the tree with this id."""
    return Tree(repository, bytes.fromhex(name), path="")


def content(git: Git, tree: str, path: str) -> bytes | None:
    """Return a file's content in a tree or commit (of a link: its target); None if there is no such file."""
    with git.reading() as repository:
        try:
            found = tree_of(repository, repository.tree(tree).hexsha) / path
        except KeyError:
            return None
        return found.data_stream.read() if isinstance(found, Blob) else None


def files_at(git: Git, tree: str, path: str) -> dict[str, bytes]:
    """Return the files at and below a path of a tree or commit, by their paths; links within the tree are followed."""
    with git.reading() as repository:
        return dict(_files_at(tree_of(repository, repository.tree(tree).hexsha), path, frozenset()))


def _files_at(root: Tree, path: str, above: frozenset[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield these files; ``above`` are the folders that ``path`` lies in, so that links cannot lead in a circle."""
    found = _follow(root, path)
    if isinstance(found, Blob):
        yield path, found.data_stream.read()
    elif isinstance(found, Tree) and found.binsha not in above:
        for item in found:
            yield from _files_at(root, f"{path}/{item.name}", above | {found.binsha})


def _follow(root: Tree, path: str) -> Item | None:
    """Return the item that a path leads to, over links; None for one that is not there or lies outside of the tree."""
    waiting, place, links = path.split("/")[::-1], list[str](), 0
    item: Item = root
    while waiting:
        part = waiting.pop()
        if part == ".." and not place:
            return None
        place = place[:-1] if part == ".." else [*place, *([part] if part not in ("", ".") else [])]
        try:
            item = root / "/".join(place) if place else root
        except KeyError:
            return None
        if item.mode == _LINK:
            links += 1
            target = item.data_stream.read().decode(errors="surrogateescape")
            if links > _MOST_LINKS or target.startswith("/"):
                return None
            waiting += target.split("/")[::-1]
            place.pop()
    return item


def changed_files(one: Tree, other: Tree) -> list[Change]:
    """Return the files that differ between two trees, sorted by path, without looking for renames.

    GitPython's own diff takes every path for UTF-8, which those of a revision need not be.
    """
    return sorted(_changed_files(one, other), key=lambda change: change.path)


def _changed_files(one: Tree | None, other: Tree | None) -> Iterator[Change]:
    before, after = ({item.path: item for item in tree or ()} for tree in (one, other))
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if old is not None and new is not None and (old.binsha, old.mode) == (new.binsha, new.mode):
            continue
        if isinstance(old, Tree) or isinstance(new, Tree):
            yield from _changed_files(*(item if isinstance(item, Tree) else None for item in (old, new)))
        files = [None if isinstance(item, Tree) else item for item in (old, new)]
        if any(files):
            yield Change(str(path), *files)
