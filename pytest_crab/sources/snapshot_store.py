"""Make snapshots once and find them again: built aside, then renamed, so that a reader never sees half of one."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.atomic import publish_folder, write_atomically
from pytest_crab.errors import DiffRejected, SourceError
from pytest_crab.instances.files import diff_text, file_bytes
from pytest_crab.locks import locked_file
from pytest_crab.protocols import Snapshot
from pytest_crab.sources.git_cli import Git, GitError, create, lend
from pytest_crab.sources.snapshot import GitSnapshot, apply
from pytest_crab.types import Instance

#: Counts up when the same trees would get other commits, since commits are part of what a contestant sees.
HISTORY = 1

#: How often a snapshot was dropped, in the file of what is known of it.
AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Trees:
    """The three trees of an instance."""

    #: The repository that holds them for now.
    origin: Git
    base: str
    head: str
    reference: str


def snapshot(
    cache: Path, identity: Mapping[str, Any], instance: Instance, build: Callable[[Git], Trees]
) -> GitSnapshot:
    """Return the snapshot that ``identity`` decides, from ``cache`` or through ``build``.

    ``build`` is given an empty temporary repository. One thread of one process builds, others wait; the remains of a
    killed one are removed. Of ``instance`` it takes the name of the base branch, which its clones show.
    """
    return replace(_find_or_build(cache.absolute(), identity, build), base_branch=instance.pull_request.base_branch)


def _find_or_build(cache: Path, identity: Mapping[str, Any], build: Callable[[Git], Trees]) -> GitSnapshot:
    known = find(cache, identity)
    if known:
        return known
    digest = serialization.digest(identity)
    with cache_lock(cache, digest):
        known = find(cache, identity)
        if known:
            return known
        aside = _make_folder(cache / "aside")
        for left in aside.glob(f"{digest}-*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=f"{digest}-", dir=aside) as scratch:
            trees = build(create(Path(scratch, "scratch.git")))
            again = _read_record(cache, identity)[1]
            made = _publish(cache, trees, Path(scratch, "made"), again)
        _write(_record(cache, identity), {**_ids(made), AGAIN: again})
    return made


def find(cache: Path, identity: Mapping[str, Any]) -> GitSnapshot | None:
    """Return the snapshot that ``identity`` decides if it has been made already."""
    ids, again = _read_record(cache.absolute(), identity)
    if not ids:
        return None
    found = GitSnapshot(_folder(cache.absolute(), ids["base_tree"], ids["head_tree"], again), **ids)
    return found if found.folder.is_dir() and _holds(found.private, found.reference_tree) else None


def _holds(git: Git, tree: str) -> bool:
    try:
        _require_tree(git, tree, (git.folder / "objects" / "pack").stat().st_mtime_ns)
    except (GitError, FileNotFoundError):
        return False
    return True


@functools.lru_cache(maxsize=256)
def _require_tree(git: Git, tree: str, packed: int) -> None:  # noqa: ARG001 - what was packed since is asked for again
    """Raise GitError if a repository has no such tree; what it has is remembered until its packs change."""
    git.run("cat-file", "-e", tree)


def drop(cache: Path, identity: Mapping[str, Any], snapshot: Snapshot) -> None:
    """Let the snapshot be made anew in another folder; the present one stays usable.

    Does nothing if it has been dropped already.
    """
    cache = cache.absolute()
    with cache_lock(cache, serialization.digest(identity)):
        ids, again = _read_record(cache, identity)
        if (ids or not again) and find(cache, identity) in (snapshot, None):
            _write(_record(cache, identity), {AGAIN: again + 1})


def _read_record(cache: Path, identity: Mapping[str, Any]) -> tuple[dict[str, str], int]:
    """Return the ids of a snapshot, none if it was not made, and the number of times that it was dropped."""
    try:
        ids = json.loads(_record(cache, identity).read_text())
    except (FileNotFoundError, ValueError):
        return {}, 0
    return ids, ids.pop(AGAIN, 0)


def _record(cache: Path, identity: Mapping[str, Any]) -> Path:
    return cache / "known" / f"{serialization.digest(identity)}.json"


def _folder(cache: Path, base: str, head: str, again: int) -> Path:
    return cache / "snapshots" / (f"{base}-{head}-{again}" if again else f"{base}-{head}")


def cache_lock(cache: Path, name: str) -> AbstractContextManager[None]:
    """Return the lock of one thing in ``cache``, to hold while it is made or changed."""
    return locked_file(_make_folder(cache / "locks") / f"{name}.lock")


def build_from_diffs(git: Git, base: str, instance: Instance, head: str, reference: str) -> Trees:
    """Return the trees of a pull request that is a diff on ``base``, with a reference that is a diff on its head.

    Raises SourceError naming the diff that does not apply.
    """
    head_tree = apply_named(git, base, instance, head)
    return Trees(git, base, head_tree, apply_named(git, head_tree, instance, reference))


def digest_of_file(instance: Instance, name: str) -> str:
    """Return the SHA-256 of a file in the instance's folder. Raises SourceError."""
    return hashlib.sha256(file_bytes(instance, name)).hexdigest()


def apply_named(git: Git, onto: str, instance: Instance, name: str) -> str:
    """Return the tree that a diff of the instance makes of ``onto``. Raises SourceError naming the diff."""
    try:
        return apply(git, diff_text(instance, name), onto)
    except DiffRejected as error:
        message = f"{instance.id}: {name} does not apply ({error}); it should be made again with git diff"
        raise SourceError(message) from None


def _publish(cache: Path, trees: Trees, aside: Path, again: int) -> GitSnapshot:
    """Copy the trees, and nothing else of their origin, into a new snapshot: built aside, then renamed."""
    public = create(aside / "public.git")
    trees.origin.pack([trees.base, trees.head], public)
    base = public.commit(trees.base, "base")
    head = public.commit(trees.head, "head", base)
    public.point("refs/heads/main", head)
    lend("../../public.git/objects", create(aside / "private.git"))
    folder = _folder(cache, trees.base, trees.head, again)
    _make_folder(folder.parent)
    publish_folder(aside, folder)
    settled = GitSnapshot(folder, base, head, trees.base, trees.head, trees.reference)
    trees.origin.pack([trees.reference, f"^{trees.base}", f"^{trees.head}"], settled.private)
    return settled


def _ids(made: GitSnapshot) -> dict[str, str]:
    return {name: getattr(made, name) for name in ("base", "head", "base_tree", "head_tree", "reference_tree")}


def _write(path: Path, value: Mapping[str, str | int]) -> None:
    _make_folder(path.parent)
    write_atomically(path, serialization.canonical(value).encode())


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
