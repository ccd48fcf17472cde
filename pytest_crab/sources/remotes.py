"""A repository on this machine: its public address, and its place in the mirror."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.git_mirror import MIRROR, owner_and_name
from pytest_crab.sources.git_cli import GitError, run

_SSH = re.compile(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")


def is_repository(folder: Path) -> bool:
    """Return whether a folder is a git repository, bare or with a work tree."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def address_of(folder: Path) -> str | None:
    """Return the https address of a repository's origin, without credentials; None if it has none."""
    try:
        url = ask(folder, "config", "--get", "remote.origin.url")
    except GitError:
        return None
    if match := _SSH.fullmatch(url):
        url = f"https://{match[1]}/{match[2]}"
    match = re.fullmatch(r"https://(?:[^@/]*@)?([^@/\s]+/[^@\s]+?)(?:\.git)?/?", url)
    return f"https://{match[1]}" if match else None


def ask(folder: Path, *arguments: str) -> str:
    """Return the one line that git prints in a repository's folder, also a linked work tree or a submodule.

    Raises GitError.
    """
    place = folder.absolute()
    own = place / ".git" if (place / ".git").exists() else place
    return run(["-c", "safe.directory=*", *arguments], cwd=place, env={"GIT_DIR": str(own)}).decode().strip()


def git_folder(folder: Path) -> Path:
    """Return the folder with a repository's objects, which a linked work tree or a submodule only names.

    Raises GitError.
    """
    return folder.absolute() / ask(folder, "rev-parse", "--git-common-dir")


@contextmanager
def mirrored(folder: Path, url: str, store: Path) -> Iterator[None]:
    """Let a repository on this machine be the mirror of its address while the context lasts, unless there is a mirror.

    Raises BadInput.
    """
    if os.environ.get(MIRROR):
        yield
        return
    root = (store / "mirrors").absolute()
    link = root / owner_and_name(url)
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
