"""Find the merge base of two commits, and the diff from there, in a mirror with full history."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.git_mirror import MIRROR, owner_and_name
from pytest_crab.sources.git_cli import Git, GitError

#: The mirror may belong to another user.
_SAFE = {"safe.directory": "*"}
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The merge base of two commits, and a diff."""

    merge_base: str
    #: From the merge base to the second commit.
    diff: str


def find_fork(url: str, base: str, head: str) -> Fork | str:
    """Return the fork of two commits as the mirror on this machine has it, or a clause that says why it cannot.

    Only a folder with whole histories answers; nothing is fetched.
    """
    folder = mirror_folder(url)
    if isinstance(folder, str):
        return folder
    git = Git(folder / ".git" if (folder / ".git").is_dir() else folder)
    try:
        return _find_fork(git, base, head)
    except GitError as error:
        return error.words


def mirror_folder(url: str) -> Path | str:
    """Return the folder of a repository in the mirror on this machine, or a clause that says why there is none."""
    mirror = os.environ.get(MIRROR, "")
    if not mirror or "://" in mirror:
        return f"{MIRROR} names no folder"
    name = owner_and_name(url)
    folder = next((place for place in (Path(mirror, f"{name}.git"), Path(mirror, name)) if place.is_dir()), None)
    return f"{mirror} has no {name}" if folder is None else folder.absolute()


def known_base(url: str, base: str, head: str) -> tuple[str, str]:
    """Return the merge base where a mirror has the history, else ``base`` itself; and which of the two it is."""
    try:
        found = find_fork(url, base, head)
    except ValueError:
        found = None
    return (found.merge_base, "merge base") if isinstance(found, Fork) else (base, "unchecked")


def _find_fork(git: Git, base: str, head: str) -> Fork | str:
    for sha in (base, head):
        if git.run("cat-file", "-t", sha, settings=_SAFE, fine=(0, 128)).strip() != b"commit":
            return f"the mirror has no commit {sha}"
    if git.run("rev-parse", "--is-shallow-repository", settings=_SAFE).strip() != b"false":
        return "the mirror is shallow"
    found = git.run("merge-base", base, head, settings=_SAFE, fine=(0, 1)).decode().split()
    if not found:
        return f"{base} and {head} have no common ancestor"
    diff = git.run(*_DIFF, found[0], head, settings=_SAFE).decode("utf-8", "surrogateescape")
    return Fork(merge_base=found[0], diff=diff)
