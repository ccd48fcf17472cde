"""A revision as a series of commits: read by git within the sandbox, and made again here from the diffs alone."""

from __future__ import annotations

import dataclasses
import json
import posixpath
from collections.abc import Callable, Iterator, Sequence

from pytest_crab import diffs
from pytest_crab.errors import DiffRejected
from pytest_crab.harness import channel
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import Completed, Snapshot
from pytest_crab.runtimes import tree_diff
from pytest_crab.runtimes.inside.delta import Leftovers
from pytest_crab.types import RevisionCommit

_PROGRAM = channel.program(program_text("pytest_crab.runtimes.inside", "series"))
_MOST = diffs.MOST_MIB_CHANGED << 20
_SECONDS = 120


def read_series(
    snapshot: Snapshot, diff: str, interpreter: str, root: str, run: Callable[..., Completed]
) -> tuple[RevisionCommit, ...]:
    """Return the series of commits behind ``diff``, as protocols.Workspace promises it.

    ``run(argv, stdin=..., seconds=...)`` runs a command in the tree; it sees interpreter and tree as ``interpreter``
    and ``root``.
    """
    if not diff.strip():
        return ()
    key = channel.new_key()
    argv = (interpreter, "-I", "-S", "-c", _PROGRAM, root, snapshot.head, str(_MOST))
    done = run(argv, stdin=key, seconds=_SECONDS)
    try:
        return tuple(_settle(snapshot, diff, _without_leftovers(snapshot, list(_read(key, done)))))
    except DiffRejected as error:
        return (RevisionCommit(diff=diff, message=f"no series of commits: {error}"),)


def _read(key: bytes, done: Completed) -> Iterator[RevisionCommit]:
    """Yield the commits in what the program sent. Raises DiffRejected where it is no series."""
    reader = channel.Reader(key)
    messages = reader.feed(done.stdout)
    if done.exit_code != 0 or not reader.whole:
        raise DiffRejected("it could not be read out of the workspace")
    *sent, last = messages
    if last:
        raise DiffRejected(last.decode("utf-8", "replace"))
    for one in sent:
        claims, _, diff = one.partition(b"\n")
        message, findings = json.loads(claims)
        text = diff.decode("utf-8", "surrogateescape")
        yield RevisionCommit(diff=text, findings=tuple(dict.fromkeys(findings)), message=message)


def _without_leftovers(snapshot: Snapshot, commits: Sequence[RevisionCommit]) -> Iterator[RevisionCommit]:
    """Yield the commits without what a revision never has: files that builds and test runs leave."""
    leftovers = Leftovers(**tree_diff.leftovers(snapshot))
    split = [list(diffs.split_files(one.diff)) for one in commits]
    paths = {path for parts in split for part in parts for path in (part.old, part.new) if path is not None}
    marked = tuple(
        f"{folder}/" for folder, name in map(posixpath.split, paths) if folder and leftovers.mark(folder, [name])
    )

    def is_left(part: diffs.DiffSection) -> bool:
        path = part.new or part.old or ""
        return path not in leftovers.tracked and (leftovers.name(path) or path.startswith(marked))

    for one, parts in zip(commits, split, strict=True):
        yield dataclasses.replace(one, diff="".join(part.text for part in parts if not is_left(part)))


def _settle(snapshot: Snapshot, diff: str, claimed: Iterator[RevisionCommit]) -> Iterator[RevisionCommit]:
    """Yield the commits that change something, and what is in none of them as a last one.

    Raises DiffRejected where one does not apply to what those before it make.
    """
    whole = snapshot.apply(diff)
    before = snapshot.head_tree
    for one in claimed:
        after = snapshot.apply(one.diff, before)
        if after != before:
            yield RevisionCommit(diff=snapshot.diff(after, before), findings=one.findings, message=one.message)
        before = after
    if before != whole:
        yield RevisionCommit(diff=snapshot.diff(whole, before))
