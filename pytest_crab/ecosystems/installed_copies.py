"""Copies of a project that this machine has installed for all its users: a later release would give answers away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_crab.ecosystems import SYSTEM_PACKAGES, is_copy
from pytest_crab.ecosystems.python.packages import METADATA
from pytest_crab.text import split_lines


def installed_copies(project: str | None) -> tuple[Path, ...]:
    """Return the folders and files of a project in the system's folders of packages, by its name in an index."""
    if not project:
        return ()
    folders = sorted(path for pattern in SYSTEM_PACKAGES for path in Path("/").glob(pattern[1:]))
    return tuple(dict.fromkeys(path for folder in folders for path in _copies(folder, project)))


def _copies(folder: Path, project: str) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if is_copy(path.name, project):
            yield path
            if path.name.endswith(METADATA):
                yield from (
                    found for name in sorted(_modules(path)) for found in (folder / name, folder / f"{name}.py")
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
