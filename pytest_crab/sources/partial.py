"""Mirrors that lack the content of some files: their commits are used without those, where none of them matters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_crab.errors import SourceError
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.git_cli import GitError
from pytest_crab.sources.git_cli import lend

#: What git says of a repository that has a commit and not all of its objects.
_BROKEN = ("pack-objects died", "missing blob object", "unable to read", "did not send all necessary objects")


def is_partial(error: GitError) -> bool:
    """Whether a fetch failed since the place itself lacks objects of the commit."""
    return any(words in error.words for words in _BROKEN)


def borrow(git: Git, place: Path) -> None:
    """Let the cache of a repository read a mirror on this machine, from which nothing can be fetched whole."""
    folder = next((folder for folder in (place, place / ".git") if (folder / "objects").is_dir()), None)
    if folder is not None:
        lend(str((folder / "objects").resolve()), git)


def is_borrowed(git: Git) -> bool:
    """Whether this cache reads a mirror that lacks something."""
    return (git.folder / "objects" / "info" / "alternates").exists()


def lost(git: Git, shas: Sequence[str]) -> tuple[str, ...]:
    """The paths of the files in these commits whose content is not to be had, sorted."""
    return tuple(sorted({path for sha in shas for path in _lost(git, sha)}))


def without_lost(git: Git, shas: Sequence[str], needed: Sequence[str]) -> list[str]:
    """The trees of these commits without the files whose content is lost.

    Raises SourceError where such a file is one of ``needed``, or is not the same in all the commits: then something
    that is measured would be left out.
    """
    found = [_lost(git, sha) for sha in shas]
    for path in sorted(set().union(*found)):
        if path in needed or any(each.get(path) != found[0].get(path) for each in found):
            raise SourceError(
                f"the mirror of {shas[0]} lacks the content of {path}, which the pull request changes or is about; "
                "another mirror is needed"
            )
    return [_trimmed(git, sha, list(each)) for sha, each in zip(shas, found, strict=True)]


def _lost(git: Git, sha: str) -> dict[str, str]:
    """Mode and object of each file whose content is lost, by path."""
    told = git.run("rev-list", "--objects", "--missing=print", "--no-walk", f"{sha}^{{tree}}").splitlines()
    missing = {line[1:].split()[0].decode() for line in told if line.startswith(b"?")}
    if not missing:
        return {}
    entries = git.run("ls-tree", "-r", "-z", "--full-tree", sha).decode("utf-8", "surrogateescape").split("\0")[:-1]
    files = (entry.split("\t", 1) for entry in entries)
    return {path: facts for facts, path in files if facts.split()[2] in missing}


def _trimmed(git: Git, sha: str, paths: Sequence[str]) -> str:
    tree = git.line("rev-parse", f"{sha}^{{tree}}")
    if not paths:
        return tree
    with git.with_index(tree) as indexed:
        removals = "".join(f"0 {'0' * 40}\t{path}\0" for path in paths).encode("utf-8", "surrogateescape")
        indexed.run("update-index", "-z", "--index-info", stdin=removals)
        return indexed.line("write-tree")
