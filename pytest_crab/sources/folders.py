"""Turn the files of a folder into a git tree: links stay links, no filter runs, and no .git folder is entered."""

from __future__ import annotations

import errno
import itertools
import os
import select
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pytest_crab.diffs import MOST_MIB_CHANGED
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.instances.files import LINK, FolderEntry, entry, link_bytes
from pytest_crab.scratch import scratch
from pytest_crab.sources import revision_limits
from pytest_crab.sources.git_cli import Git, GitError, GitSlow

MOST_MIB_PER_FILE = 64
MOST_MIB = 1024
MOST_FILES = 100_000
MOST_DEPTH = 100
#: How many names git is asked about at once.
_AT_ONCE = 10_000

_SUBMODULE = "160000"


def write(git: Git, folder: Path, entries: Sequence[FolderEntry]) -> str:
    """Return the tree that holds ``entries`` and nothing else."""
    with git.with_index(None) as indexed:
        _update(indexed, zip(entries, _hash_files(git, folder, entries), strict=True), ())
        return indexed.line("write-tree")


#: What a disk or a process table that is full says; whoever left the folder is not to blame.
_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def record(git: Git, folder: Path, onto: str, left: Collection[str] = ()) -> str:
    """Return the tree that ``onto`` has become in ``folder``, which must hold none of the paths in ``left``.

    Ignored files stay out unless ``onto`` tracks them; submodules stay as they were. Raises DiffRejected where the
    folder holds what a revision may not, and EngineError where this machine could not write it down.
    """
    if not folder.is_dir():
        raise EngineError(f"{folder} is gone, so the revision cannot be recorded: run again")
    tracked = _modes(git, onto)
    submodules = {path for path, mode in tracked.items() if mode == _SUBMODULE}
    try:
        with _ignore_check(git, folder) as ignored:
            entries = list(_limit_size(_walk_unignored(ignored, folder, tracked.keys() - submodules, submodules)))
        kept = {file.path for file in entries} | submodules
        _require_none(kept.intersection(left))
        revision_limits.require_modest_files(git, onto, entries)
        with git.with_index(onto) as indexed:
            _update(indexed, zip(entries, _hash_files(git, folder, entries), strict=True), tracked.keys() - kept)
            return indexed.line("write-tree")
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        message = f"{error.filename} cannot be read ({error.strerror}), so the revision cannot be recorded"
        raise DiffRejected(message) from None
    except GitError as error:
        message = f"the revision cannot be recorded: {error}"
        if isinstance(error, GitSlow) or any(os.strerror(number) in error.words for number in _MACHINE):
            raise EngineError(message) from None
        raise DiffRejected(message) from None


def _require_none(left: set[str]) -> None:
    if left:
        message = f"it changes over {MOST_MIB_CHANGED} MiB, such as {min(left)}; a revision may change that much"
        raise DiffRejected(message)


def _walk_unignored(
    ignored_of: Callable[[set[str]], set[str]], folder: Path, tracked: set[str], submodules: set[str]
) -> Iterator[FolderEntry]:
    """Walk level by level, asking what is ignored, so that an ignored folder is never entered.

    No more names are held at once than a revision may leave, and those that are asked about. Raises DiffRejected.
    """
    parents = {path[:cut] for path in tracked for cut, letter in enumerate(path) if letter == "/"}
    level, depth, count = [""], 0, 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            message = f"the folders lie over {MOST_DEPTH} deep in each other, more than a revision may leave"
            raise DiffRejected(message)
        found: dict[str, os.DirEntry[str]] = {}
        listing = _scan_folders(folder, level)
        while some := dict(itertools.islice(listing, _AT_ONCE)):
            ignored = ignored_of(some.keys() - tracked - parents - submodules)
            found.update((path, some[path]) for path in some.keys() - ignored - submodules)
            if count + len(found) > MOST_FILES:
                message = f"the folder has over {MOST_FILES} files and folders, more than a revision may leave"
                raise DiffRejected(message)
        count += len(found)
        level = []
        for path in sorted(found):
            if found[path].is_dir(follow_symlinks=False):
                level.append(f"{path}/")
            else:
                yield from entry(found[path], path)


def _scan_folders(folder: Path, level: Iterable[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what lies in some folders, named by their prefixes, but git's own."""
    for prefix in level:
        with os.scandir(folder / prefix) as listing:
            for one in listing:
                path = f"{prefix}{one.name}"
                if one.name == ".gitignore" and not stat.S_ISREG(one.stat(follow_symlinks=False).st_mode):
                    message = f"{path} is not a regular file, so the revision cannot be recorded"
                    raise DiffRejected(message)
                if one.name.lower() != ".git":
                    yield path, one


@contextmanager
def _ignore_check(git: Git, folder: Path) -> Iterator[Callable[[set[str]], set[str]]]:
    """Yield a function that returns which of some paths the folder's .gitignore files ignore.

    One git process answers for the whole folder, so that one limit holds for all of its patterns. It has no index,
    since the tracked paths are known.
    """
    there = Git(git.folder, index=git.folder / "no-index", work_tree=folder)
    arguments = ("check-ignore", "--no-index", "-z", "--stdin", "--verbose", "--non-matching")
    with there.asking(
        *arguments, cwd=folder, env={"GIT_LITERAL_PATHSPECS": "0"}, settings={"core.bare": "false"}
    ) as process:
        questions, answers = process.stdin, _fields(process.stdout)
        assert questions is not None

        def ignored(paths: set[str]) -> set[str]:
            found = set()
            for some in _portions(sorted(paths)):
                questions.write(b"".join(os.fsencode(f"./{path}") + b"\0" for path in some))
                questions.flush()
                for path in some:
                    _, _, pattern, _ = itertools.islice(answers, 4)
                    if pattern and not pattern.startswith(b"!"):
                        found.add(path)
            return found

        yield ignored


def _portions(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield parts that fit a pipe's buffer: git answers path by path, and must not wait while it is written to."""
    part: list[str] = []
    size = 0
    for path in paths:
        length = len(os.fsencode(path)) + 3
        if part and size + length > select.PIPE_BUF:
            yield part
            part, size = [], 0
        part.append(path)
        size += length
    if part:
        yield part


def _fields(stream: IO[bytes] | None) -> Iterator[bytes]:
    """Yield what ends with a null byte, as it comes. Raises EOFError where no more comes."""
    assert stream is not None
    rest = b""
    while some := os.read(stream.fileno(), 1 << 16):
        *whole, rest = (rest + some).split(b"\0")
        yield from whole
    raise EOFError


def _limit_size(entries: Iterable[FolderEntry]) -> Iterator[FolderEntry]:
    size = 0
    for file in entries:
        size += file.size
        if file.size > MOST_MIB_PER_FILE << 20:
            message = f"{file.path} has {file.size >> 20} MiB; a revision's files may have {MOST_MIB_PER_FILE} each"
            raise DiffRejected(message)
        if size > MOST_MIB << 20:
            message = f"the folder has over {MOST_MIB} MiB, more than a revision may leave"
            raise DiffRejected(message)
        yield file


def _modes(git: Git, tree: str) -> dict[str, str]:
    """Return the mode of every path in a tree."""
    lines = git.run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]
    pairs = (line.split(b"\t", 1) for line in lines)
    return {os.fsdecode(path): facts.split(b" ", 1)[0].decode() for facts, path in pairs}


def _hash_files(git: Git, folder: Path, entries: Sequence[FolderEntry]) -> list[str]:
    """Write each file's bytes unfiltered and each link's target; return the blobs' ids in the same order."""
    with scratch("links") as links:
        paths = [
            _target(folder / file.path, links / str(number)) if file.mode == LINK else os.fsencode(file.path)
            for number, file in enumerate(entries)
        ]
        stdin = b"".join(_quote(path) + b"\n" for path in paths)
        return git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin, cwd=folder).decode().split()


def _target(link: Path, file: Path) -> bytes:
    """Write where a link points into a file, and return the file's path."""
    file.write_bytes(link_bytes(link))
    return os.fsencode(file)


def _quote(path: bytes) -> bytes:
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _update(git: Git, added: Iterable[tuple[FolderEntry, str]], removed: Iterable[str]) -> None:
    lines = [b"0 " + b"0" * 40 + b"\t" + os.fsencode(path) + b"\0" for path in sorted(removed)]
    lines += [f"{file.mode} {name}\t".encode() + os.fsencode(file.path) + b"\0" for file, name in added]
    git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
