"""Turn the files of a folder into a git tree: links stay links, no filter runs, and no .git folder is entered."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_crab.diffs import MOST_MIB_CHANGED
from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.instances.files import LINK, FolderEntry, entry, link_bytes
from pytest_crab.scratch import scratch
from pytest_crab.sources import revision_limits
from pytest_crab.sources.git_cli import Git, GitError, GitSlow
from pytest_crab.sources.room import MACHINE, require_room

MOST_MIB_PER_FILE = 64
MOST_MIB = 1024
MOST_FILES = 100_000
MOST_DEPTH = 100

_SUBMODULE = "160000"


def write(git: Git, folder: Path, entries: Sequence[FolderEntry]) -> str:
    """Return the tree that holds ``entries`` and nothing else."""
    with git.with_index(None) as indexed:
        _update(indexed, zip(entries, _hash_files(git, folder, entries), strict=True), ())
        return indexed.line("write-tree")


def record(git: Git, folder: Path, onto: str, left: Collection[str] = ()) -> str:
    """Return the tree that ``onto`` has become in ``folder``, which must hold none of the paths in ``left``.

    What builds and test runs leave stays out unless ``onto`` tracks it; submodules stay as they were. Raises
    DiffRejected where the folder holds what a revision may not, and SourceError where this machine could not write it
    down.
    """
    if not folder.is_dir():
        raise EngineError(f"{folder} is gone, so the revision cannot be recorded: run again")
    tracked = _files(git, onto)
    submodules = {path for path, (mode, _) in tracked.items() if mode == _SUBMODULE}
    try:
        entries = list(_limit_size(_walk(folder, tracked, submodules)))
        kept = {file.path for file in entries} | submodules
        _require_none(kept.intersection(left))
        revision_limits.require_modest_files(git, onto, entries)
        changed = [file for file in entries if tracked.get(file.path) != (file.mode, _id_of(folder / file.path, file))]
    except OSError as error:
        if error.errno in MACHINE:
            raise
        message = f"{error.filename} cannot be read ({error.strerror}), so the revision cannot be recorded"
        raise DiffRejected(message) from None
    revision_limits.require_modest_sizes(file.size for file in changed)
    removed = tracked.keys() - kept
    if not changed and not removed:
        return onto
    try:
        with git.with_index(onto) as indexed:
            _update(indexed, zip(changed, _hash_files(git, folder, changed), strict=True), removed)
            return indexed.line("write-tree")
    except GitSlow:
        raise
    except GitError as error:
        require_room(git.folder / "objects", size=MOST_MIB_CHANGED << 20)
        message = f"the revision cannot be recorded: {error}"
        raise DiffRejected(message) from None


@functools.lru_cache(maxsize=8)
def paths(git: Git, tree: str) -> frozenset[str]:
    """Return the path of every file of a tree."""
    return frozenset(_files(git, tree))


def _require_none(left: set[str]) -> None:
    if left:
        message = f"it changes over {MOST_MIB_CHANGED} MiB, such as {min(left)}; a revision may change that much"
        raise DiffRejected(message)


def _walk(folder: Path, tracked: Mapping[str, object], submodules: set[str]) -> Iterator[FolderEntry]:
    """Yield the files of a folder but git's own and leftovers, level by level. Raises DiffRejected.

    No more names are held at once than a revision may leave.
    """
    parents = {path[:cut] for path in tracked for cut, letter in enumerate(path) if letter == "/"}
    leftover = leftover_patterns()
    is_leftover = re.compile(leftover.expression).search
    level, depth, count = [""], 0, 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            message = f"the folders lie over {MOST_DEPTH} deep in each other, more than a revision may leave"
            raise DiffRejected(message)
        found: dict[str, os.DirEntry[str]] = {}
        for path, one in _scan_folders(folder, level):
            known = path in tracked or path in parents
            if path in submodules or (not known and is_leftover(path)):
                continue
            found[path] = one
            if count + len(found) > MOST_FILES:
                message = f"the folder has over {MOST_FILES} files and folders, more than a revision may leave"
                raise DiffRejected(message)
        count += len(found)
        level = []
        for path in sorted(found):
            if not found[path].is_dir(follow_symlinks=False):
                yield from entry(found[path], path)
            elif path in parents or not any(os.path.lexists(folder / path / mark) for mark in leftover.marks):
                level.append(f"{path}/")


def _scan_folders(folder: Path, level: Iterable[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what lies in some folders, named by their prefixes, but git's own."""
    for prefix in level:
        with os.scandir(folder / prefix) as listing:
            for one in listing:
                if one.name.lower() != ".git":
                    yield f"{prefix}{one.name}", one


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


@functools.lru_cache(maxsize=8)
def _files(git: Git, tree: str) -> Mapping[str, tuple[str, str]]:
    """Return the mode and the id of every path in a tree."""
    lines = git.run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]
    pairs = (line.split(b"\t", 1) for line in lines)
    return {os.fsdecode(path): (facts[:6].decode(), facts[-40:].decode()) for facts, path in pairs}


def _id_of(path: Path, file: FolderEntry) -> str:
    """Return the id that git gives a file's content; it is read a part at a time."""
    total = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    if file.mode == LINK:
        total.update(link_bytes(path))
        return total.hexdigest()
    with path.open("rb") as content:
        while part := content.read(1 << 20):
            total.update(part)
    return total.hexdigest()


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
