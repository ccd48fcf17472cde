"""A repository on this machine: its public address, and its place in the mirror."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pytest_crab.errors import BadInput
from pytest_crab.sources.git import MIRROR
from pytest_crab.sources.git_cli import Git, GitError

_SSH = re.compile(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")


def is_repository(folder: Path) -> bool:
    """Return whether a folder is a git repository, bare or with a work tree."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def address_of(folder: Path) -> str | None:
    """Return the https address of a repository's origin, without credentials; None if it has none."""
    folder = folder.absolute()
    git = Git(folder / ".git" if (folder / ".git").is_dir() else folder)
    try:
        url = git.line("config", "--get", "remote.origin.url")
    except GitError:
        return None
    if match := _SSH.fullmatch(url):
        url = f"https://{match[1]}/{match[2]}"
    match = re.fullmatch(r"https://(?:[^@/]*@)?([^@/\s]+/[^@\s]+?)(?:\.git)?/?", url)
    return f"https://{match[1]}" if match else None


@contextmanager
def mirrored(folder: Path, url: str, store: Path) -> Iterator[None]:
    """Let a repository on this machine be the mirror of its address while the context lasts, unless there is a mirror.

    Raises BadInput.
    """
    if os.environ.get(MIRROR):
        yield
        return
    root = (store / "mirrors").absolute()
    link = root.joinpath(*urlsplit(url).path.strip("/").removesuffix(".git").split("/")[-2:])
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(folder.absolute(), target_is_directory=True)
    except OSError as error:
        raise BadInput(str(link), [f"it cannot be made ({error.strerror}); choose another --store"]) from None
    os.environ[MIRROR] = str(root)
    try:
        yield
    finally:
        os.environ.pop(MIRROR, None)
