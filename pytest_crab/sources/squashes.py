"""Tell which pull request a commit of the main line brought: by its message, or by its files where that is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_crab.sources.git_cli import Git

#: The repository may belong to another user.
_SAFE = {"safe.directory": "*"}
_SECONDS = 600
#: The subjects of a merge, by GitHub or Bitbucket, and of a squash.
MERGE = re.compile(r"(?:Merge |Merged in \S+ \()pull request #(\d+)\b")
SQUASH = re.compile(r"\s*\((?:pull request )?#(\d+)\)$")
_RAW = ("--raw", "-z", "--no-renames", "--no-abbrev")


def named_pull(subject: str) -> int | None:
    """Return the number of the pull request that the subject of a commit names as merged; None where it names none."""
    found = MERGE.match(subject) or SQUASH.search(subject)
    return None if found is None else int(found[1])


def commit_with_files(git: Git, main: str, base: str, tip: str) -> str | None:
    """Return the first commit of a main line that has each file as a pull request leaves it; None if there is none.

    So has a squash, and the last commit of a rebase, unless the main line changed the same files meanwhile. The pull
    request is the commits from ``base`` to ``tip``. Only trees are read. Raises GitError.
    """
    diff = _tokens(git, "diff", *_RAW, base, tip, "--")
    wanted = {next(diff): _file(change) for change in diff}
    if not wanted:
        return None
    log = _tokens(
        git, "log", "--first-parent", "-m", "--reverse", "--format=%H", *_RAW, f"{base}..{main}", "--", *wanted
    )
    apart, commit = set(wanted), ""
    for token in log:
        if token.startswith(":"):
            path = next(log)
            if path in wanted:  # git also tells of the files of a folder that had this name
                (apart.discard if _file(token) == wanted[path] else apart.add)(path)
        elif not apart:
            break
        else:
            commit = token
    return None if apart else commit


def _tokens(git: Git, *arguments: str) -> Iterator[str]:
    """Yield commits and changes, each change followed by its path."""
    told = git.run(*arguments, settings=_SAFE, seconds=_SECONDS).decode("utf-8", "surrogateescape")
    return (token.removeprefix("\n") for token in told.split("\0")[:-1])


def _file(change: str) -> tuple[str, str]:
    """Return mode and content of the file that a change leaves."""
    _, mode, _, content, _ = change.split(" ")
    return mode, content
