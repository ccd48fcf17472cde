"""Make the diffs of a pull request on a folder, from diff files or from changed copies of the folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import DiffRejected, SourceError
from pytest_crab.instances.files import pristine
from pytest_crab.scratch import scratch
from pytest_crab.sources import folders, package_index
from pytest_crab.sources.git_cli import Git, create
from pytest_crab.sources.git_trees import content
from pytest_crab.sources.sdist import unpack
from pytest_crab.sources.snapshot import DIFF, apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Authored:
    """A temporary repository with the tree of head, and diffs."""

    git: Git
    head_tree: str
    #: The diff from base to head.
    head: str
    #: The diff from head to the reference.
    reference: str

    def read(self, path: str) -> bytes | None:
        """Return a file's content at head; None if there is no such file."""
        return content(self.git, self.head_tree, path)


@contextmanager
def author_diffs(base: Path, head: Path | None, reference: Path | None) -> Iterator[Authored]:
    """Make the pull request from the folder ``base`` to ``head``, and the reference from head to ``reference``.

    ``head`` and ``reference`` are each a diff file or a changed folder; None changes nothing. The repository is removed
    when the context ends. Raises SourceError for a diff that does not apply.
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
def unpacked_release(name: str, version: str, cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the unpacked folder of a release and its archive's SHA-256; the archive stays in ``cache``.

    Raises SourceUnreachable or SourceError.
    """
    kept = cache.absolute() / "sdists"
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="download-", dir=kept) as aside:
        archive = Path(aside, "archive")
        sha256 = package_index.locate(name, version, archive)
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
