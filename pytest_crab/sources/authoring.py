"""A pull request on a folder while it is being written: its diffs, out of diff files or out of changed copies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import DiffRejected
from pytest_crab.errors import SourceError
from pytest_crab.instances.files import pristine
from pytest_crab.scratch import scratch
from pytest_crab.sources import folders
from pytest_crab.sources import indexes
from pytest_crab.sources.git_cli import Git
from pytest_crab.sources.git_cli import create
from pytest_crab.sources.objects import content
from pytest_crab.sources.sdist import unpack
from pytest_crab.sources.snapshot import DIFF
from pytest_crab.sources.snapshot import apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """The trees of base and head in a repository of the moment, and the two diffs; an empty diff changes nothing."""

    git: Git
    head_tree: str
    head: str
    reference: str

    def read(self, path: str) -> bytes | None:
        """A file's content at head; None if there is none."""
        return content(self.git, self.head_tree, path)


@contextmanager
def authored(base: Path, head: Path | None, reference: Path | None) -> Iterator[Authored]:
    """The pull request that ``head`` makes of the folder ``base``, and ``reference`` of head: each a diff or a folder.

    Gone when the context ends. Raises SourceError for a diff that does not apply.
    """
    with scratch("new") as folder:
        git = create(folder / "scratch.git")
        base_tree = folders.write(git, base, pristine(base))
        head_tree = _tree(git, base_tree, head)
        reference_tree = _tree(git, head_tree, reference)
        yield Authored(
            git=git,
            head_tree=head_tree,
            head=_diff(git, base_tree, head_tree),
            reference=_diff(git, head_tree, reference_tree),
        )


@contextmanager
def released(name: str, version: str, cache: Path) -> Iterator[tuple[Path, str]]:
    """The unpacked folder of a release and its archive's SHA-256; the archive stays in ``cache`` for its instances.

    Raises SourceUnreachable or SourceError.
    """
    kept = cache.absolute() / "sdists"
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="download-", dir=kept) as aside:
        archive = Path(aside, "archive")
        sha256 = indexes.locate(name, version, archive)
        folder = Path(aside, "tree")
        folder.mkdir()
        top = unpack(archive, folder, f"the sdist of {name} {version}")
        archive.replace(kept / f"{sha256}.tar.gz")
        yield top, sha256


def _tree(git: Git, onto: str, change: Path | None) -> str:
    if change is None:
        return onto
    if change.is_dir():
        return folders.write(git, change, pristine(change))
    try:
        return apply(git, change.read_bytes().decode("utf-8", "surrogateescape"), onto)
    except OSError as error:
        raise SourceError(f"{change} cannot be read ({error.strerror})") from None
    except DiffRejected as error:
        raise SourceError(f"{change} does not apply ({error}); it should be made with git diff") from None


def _diff(git: Git, one: str, other: str) -> str:
    return git.run(*DIFF, "--no-renames", one, other).decode("utf-8", "surrogateescape")
