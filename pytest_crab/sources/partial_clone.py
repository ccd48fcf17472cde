"""Use a mirror that lacks the content of some files, where none of them matters to the instance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_crab.errors import SourceError
from pytest_crab.sources.git_cli import Git, GitError, lend
from pytest_crab.text import split_lines

#: What git says of a repository that has a commit and not all of its objects.
_BROKEN = ("pack-objects died", "missing blob object", "unable to read", "did not send all necessary objects")


def is_partial(error: GitError) -> bool:
    """Return whether a fetch failed because the place itself lacks objects of the commit."""
    return any(words in error.words for words in _BROKEN)


def borrow(git: Git, place: Path) -> None:
    """Let the cache of a repository read the objects of an incomplete mirror on this machine."""
    folder = next((folder for folder in (place, place / ".git") if (folder / "objects").is_dir()), None)
    if folder is not None:
        lend(str((folder / "objects").resolve()), git)


def is_borrowed(git: Git) -> bool:
    """Return whether this cache reads the objects of an incomplete mirror."""
    return (git.folder / "objects" / "info" / "alternates").exists()


def lost_files(git: Git, shas: Sequence[str]) -> tuple[str, ...]:
    """Return the paths, sorted, of the files in these commits whose content is missing."""
    return tuple(sorted({path for sha in shas for path in _lost_files(git, sha)}))


def trees_without_lost(git: Git, shas: Sequence[str], needed: Sequence[str]) -> list[str]:
    """Return the trees of these commits without the files whose content is lost.

    Raises SourceError where such a file is one of ``needed`` or differs between the commits, since it is then part of
    what is measured.
    """
    found = [_lost_files(git, sha) for sha in shas]
    for path in sorted(set().union(*found)):
        if path in needed or any(each.get(path) != found[0].get(path) for each in found):
            raise SourceError(
                f"the mirror of {shas[0]} lacks the content of {path}, which the pull request changes or is about; "
                "another mirror is needed"
            )
    return [_tree_without(git, sha, list(each)) for sha, each in zip(shas, found, strict=True)]


def _lost_files(git: Git, sha: str) -> dict[str, str]:
    """Return mode and object of each file whose content is lost, by path."""
    told = split_lines(git.run("rev-list", "--objects", "--missing=print", "--no-walk", f"{sha}^{{tree}}"))
    missing = {line[1:].split()[0].decode() for line in told if line.startswith(b"?")}
    if not missing:
        return {}
    entries = git.run("ls-tree", "-r", "-z", "--full-tree", sha).decode("utf-8", "surrogateescape").split("\0")[:-1]
    files = (entry.split("\t", 1) for entry in entries)
    return {path: facts for facts, path in files if facts.split()[2] in missing}


def _tree_without(git: Git, sha: str, paths: Sequence[str]) -> str:
    tree = git.line("rev-parse", f"{sha}^{{tree}}")
    if not paths:
        return tree
    with git.with_index(tree) as indexed:
        removals = "".join(f"0 {'0' * 40}\t{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        indexed.run("update-index", "-z", "--index-info", stdin=removals)
        return indexed.line("write-tree")
