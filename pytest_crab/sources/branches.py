"""The branches of a contestant's checkout: the head's own, and the base under the names by which tools ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_crab.sources.git_cli import Git

#: The head's branch; the second where the base's own name rules the first out.
_HEADS = ("pull-request", "pull-request-head")
#: What many tools take for the base without asking.
_USUAL = ("main", "master")
_LOCAL, _REMOTE = "refs/heads/", "refs/remotes/origin/"
#: The remote's own branch, for tools that ask git for its name.
_DEFAULT = f"{_REMOTE}HEAD"


def refs(base_branch: str) -> frozenset[str]:
    """Return the names of all refs that a checkout has; no other name may be in it."""
    return frozenset({_DEFAULT, _head_ref(base_branch), *_base_refs(base_branch)})


def make_branches(git: Git, base: str, head: str, base_branch: str) -> None:
    """Give a repository its branches, with the head's checked out; there is no remote behind ``origin/``."""
    wanted = {**dict.fromkeys(_base_refs(base_branch), base), _head_ref(base_branch): head}
    # One file, as git itself has the refs that a clone brings: a file for each takes longer to make.
    (git.folder / "packed-refs").write_text("".join(f"{commit} {name}\n" for name, commit in sorted(wanted.items())))
    (git.folder / _REMOTE).mkdir(parents=True)
    _lead(git.folder / "HEAD", _head_ref(base_branch))
    _lead(git.folder / _DEFAULT, f"{_REMOTE}{base_branch}")


def _lead(file: Path, ref: str) -> None:
    file.write_text(f"ref: {ref}\n")


def _head_ref(base_branch: str) -> str:
    taken = list(_bases(base_branch))
    return _LOCAL + next(name for name in _HEADS if not any(_exclude(name, other) for other in taken))


def _base_refs(base_branch: str) -> list[str]:
    return [where + name for name in _bases(base_branch) for where in (_LOCAL, _REMOTE)]


def _bases(base_branch: str) -> Iterator[str]:
    yield base_branch
    yield from (name for name in _USUAL if not _exclude(name, base_branch))


def _exclude(one: str, other: str) -> bool:
    """Return True if git cannot have both branches: a branch is a file, and no folder of others."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
