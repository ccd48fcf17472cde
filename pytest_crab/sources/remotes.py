"""Find the public address of a repository on this machine."""

from __future__ import annotations

import re
from pathlib import Path

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
