"""Copies of a project that this machine has installed for all its users: a later release would give answers away."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.ecosystems import is_copy, system_packages
from pytest_crab.ecosystems.python.packages import METADATA
from pytest_crab.text import split_lines


def installed_copies(project: str | None) -> tuple[Path, ...]:
    """Return the folders and files of a project in the system's folders of packages, by its name in an index."""
    if not project:
        return ()
    folders = sorted(path for pattern in system_packages() for path in Path("/").glob(pattern[1:]))
    found = (_copies(folder, _state(folder), project) for folder in folders)
    return tuple(dict.fromkeys(path for copies in found for path in copies))


@functools.lru_cache(maxsize=256)
def _copies(folder: Path, _as_it_is: tuple[int, ...], project: str) -> tuple[Path, ...]:
    """Return the copies in one folder; it is looked at again once its state is another."""
    return tuple(_find(folder, project))


def _state(folder: Path) -> tuple[int, ...]:
    """Return when entries of a folder, and of the metadata in it, last came or went: an install writes these late."""
    infos = sorted(path for path in folder.iterdir() if path.name.endswith(METADATA))
    return tuple(path.stat().st_mtime_ns for path in (folder, *infos))


def _find(folder: Path, project: str) -> Iterator[Path]:
    for name in sorted(path.name for path in folder.iterdir()):
        if is_copy(name, project):
            path = folder / name
            yield path
            if path.name.endswith(METADATA):
                yield from (
                    found for own in sorted(_modules(path)) for found in (folder / own, folder / f"{own}.py")
                    if found.exists()
                )  # fmt: skip


def _modules(info: Path) -> set[str]:
    """Return the top-level names of an installed distribution."""
    for name in ("top_level.txt", "RECORD"):
        file = info / name
        if file.is_file():
            lines = split_lines(file.read_text("utf-8", errors="replace"))
            names = {re.split("[/,]", line.strip())[0] for line in lines}
            return {name for name in names if re.fullmatch(r"\w+", name) and name != "__pycache__"}
    return set()
