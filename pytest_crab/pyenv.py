"""pyenv's CPythons on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def programs(version: str) -> list[str]:
    """The programs of pyenv's CPythons X.Y, the newest first; none where its folder is not there or cannot be read."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")  # noqa: PTH111 - a Path raises where there is no home
    try:
        names = [path.name for path in Path(root, "versions").iterdir() if path.name.startswith(f"{version}.")]
    except OSError:
        return []
    names.sort(key=lambda name: [int(part) if part.isdigit() else -1 for part in name.split(".")], reverse=True)
    found = [str(Path(root, "versions", name, "bin", f"python{version}")) for name in names]
    return [program for program in found if os.access(program, os.X_OK)]
