"""A pull request on a released package: its source distribution, by digest, and never any code of it."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab import diffs
from pytest_crab.errors import SourceError
from pytest_crab.instances.files import pristine
from pytest_crab.sources import folders, snapshot_store
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import Instance, SdistSource

MOST_MEMBERS = 50_000
MOST_MIB = 1024


class SdistFetcher:
    """Fetches the base from an archive whose digest is checked before it is opened; head and reference are diffs."""

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """The archive and both diffs, by digest."""
        facts = _facts(instance)
        return {
            "kind": "sdist",
            "history": snapshot_store.HISTORY,
            "sha256": facts.sha256,
            "head": snapshot_store.digest_of_file(instance, facts.head),
            "reference": snapshot_store.digest_of_file(instance, facts.reference),
        }

    def fetch(self, instance: Instance, cache: Path) -> GitSnapshot:
        """Bring the trees here. Raises SourceUnreachable or SourceError."""

        def build(git: Git) -> snapshot_store.Trees:
            facts = _facts(instance)
            archive = _archive(instance.id, facts, cache.absolute())
            with tempfile.TemporaryDirectory(prefix="sdist-", dir=git.folder.parent) as folder:
                top = unpack(archive, Path(folder), f"{instance.id}: the sdist of {facts.name} {facts.version}")
                base = folders.write(git, top, pristine(top))
            return snapshot_store.build_from_diffs(git, base, instance, facts.head, facts.reference)

        return snapshot_store.snapshot(cache, self.identity(instance), instance, build)


def unpack(archive: Path, into: Path, called: str) -> Path:
    """Unpack a .tar.gz and return the one folder at its top; nothing is written outside ``into``.

    Raises SourceError for what is no archive, is a bomb, or has names or links that lead out.
    """
    size = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for number, member in enumerate(tar):
                size += member.size
                if number >= MOST_MEMBERS or size > MOST_MIB << 20:
                    raise SourceError(f"{called} holds over {MOST_MEMBERS} files or {MOST_MIB} MiB; that is refused")
                _extract(tar, member, into)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise SourceError(f"{called} cannot be unpacked ({error}); the archive should be made again") from None
    found = list(into.iterdir())
    if len(found) != 1 or found[0].is_symlink() or not found[0].is_dir():
        raise SourceError(f"{called} holds {len(found)} entries at its top; a source distribution has one folder there")
    return found[0]


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    for name in (member.name, *([member.linkname] if member.islnk() else [])):
        _refuse_links(name, into)
    if hasattr(tarfile, "data_filter"):
        tar.extract(member, into, filter="data")
        return
    # A Python without filters: what a filter would have to judge is refused.
    if not (member.isreg() or member.isdir()) or not diffs.is_inside(member.name):
        raise tarfile.ExtractError(f"{member.name} is a link or leads out, and this CPython cannot unpack such safely")
    tar.extract(member, into, set_attrs=member.isreg())


def _refuse_links(name: str, into: Path) -> None:
    """Raise ExtractError for a name that leads over a link: many releases of Python resolve such names wrongly."""
    place = into
    for part in name.split("/"):
        place = place / part
        if part == ".." or place.is_symlink():
            raise tarfile.ExtractError(f"{name[:200]!r} leads over a link or out of its folder")


def _archive(instance_id: str, facts: SdistSource, cache: Path) -> Path:
    """Return the archive in the cache, downloaded if missing."""
    kept = cache / "sdists" / f"{facts.sha256}.tar.gz"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Only now: the HTTP stack is slow to import, and a cached archive needs none of it.
    from pytest_crab.sources import package_index

    with tempfile.TemporaryDirectory(prefix="download-", dir=kept.parent) as folder:
        aside = Path(folder, "archive")
        package_index.download(facts, aside, instance_id)
        aside.rename(kept)
    return kept


def _facts(instance: Instance) -> SdistSource:
    facts = instance.source.sdist
    assert facts is not None
    return facts
