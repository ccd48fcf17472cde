"""The files in a project's folder: which of them are its source, and their digest."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.errors import SourceError
from pytest_crab.types import Comment, Instance, Oracle

REGULAR = "100644"
EXECUTABLE = "100755"
LINK = "120000"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One file of a folder."""

    #: With slashes.
    path: str
    #: Git's mode of the file.
    mode: str
    #: In bytes.
    size: int


def pristine(folder: Path) -> list[FolderEntry]:
    """Return every file of a folder that is a project's source, sorted; git's and Python's own folders are not."""
    return sorted(_below(folder, ""), key=lambda entry: entry.path)


def entry(found: os.DirEntry[str], name: str) -> Iterator[FolderEntry]:
    """Yield the file as git would keep it; sockets, pipes and devices are not kept."""
    status = found.stat(follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        yield FolderEntry(name, LINK, status.st_size)
    elif stat.S_ISREG(status.st_mode):
        yield FolderEntry(name, EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR, status.st_size)


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of a folder's source files: sorted paths, modes and contents; a link is where it points."""
    total = hashlib.sha256()
    for file in pristine(folder):
        path = folder / file.path
        content = link_bytes(path) if file.mode == LINK else path.read_bytes()
        total.update(f"{file.mode} {len(content)} ".encode() + os.fsencode(file.path) + b"\0" + content)
    return total.hexdigest()


def link_bytes(path: Path) -> bytes:
    """Return where a link points, exactly as it is written; a Path would tidy it."""
    return os.readlink(os.fsencode(path))  # noqa: PTH115 - see above


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder, by their paths in it. Raises OSError."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)


def replace_text(path: Path, text: str) -> None:
    """Put a text in the place of a file in one step, following no link that lies there. Raises OSError."""
    write_atomically(path, text.encode(), SHARED)


def _below(folder: Path, prefix: str) -> Iterator[FolderEntry]:
    with os.scandir(folder) as listing:
        for found in listing:
            name = f"{prefix}{found.name}"
            if found.is_dir(follow_symlinks=False):
                if found.name.lower() not in (".git", "__pycache__"):
                    yield from _below(Path(found), f"{name}/")
            elif found.name.lower() != ".git" and not found.name.endswith(".pyc"):
                yield from entry(found, name)


def file_bytes(instance: Instance, name: str) -> bytes:
    """Return the content of a file in the instance's folder. Raises SourceError."""
    try:
        return Path(instance.folder, name).read_bytes()
    except OSError as error:
        message = f"{instance.id}: {name} cannot be read ({error.strerror})"
        raise SourceError(message) from None


def oracle_source(instance: Instance, oracle: Oracle) -> str:
    """Return the text of an oracle as it is run. Raises SourceError where it cannot be read or is no UTF-8."""
    try:
        return Path(instance.folder, oracle.file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{instance.id}: {oracle.file} cannot be read ({error}); save it as UTF-8") from None


def oracle_text(instance: Instance, comment: Comment) -> str:
    """Return the text of a comment's oracle; what is no UTF-8 is replaced. Raises OSError."""
    return Path(instance.folder, comment.required_oracle.file).read_text("utf-8", "replace")


def diff_text(instance: Instance, name: str) -> str:
    """The text of a diff in the instance's folder; bytes that are not UTF-8 become surrogates, which apply takes."""
    return file_bytes(instance, name).decode("utf-8", "surrogateescape")
