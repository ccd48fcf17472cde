"""pyenv's CPythons on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SECONDS = 20


def programs(version: str) -> list[str]:
    """The programs of pyenv's CPythons X.Y, the newest first; none where its folder is not there or cannot be read."""
    root = _root()
    try:
        names = [path.name for path in Path(root, "versions").iterdir() if path.name.startswith(f"{version}.")]
    except OSError:
        return []
    names.sort(key=lambda name: [int(part) if part.isdigit() else -1 for part in name.split(".")], reverse=True)
    found = [str(Path(root, "versions", name, "bin", f"python{version}")) for name in names]
    return [program for program in found if os.access(program, os.X_OK)]


def behind_shim(program: Path, folder: str) -> Path | None:
    """The program that a shim of pyenv starts in ``folder``; None for what is no shim, or where pyenv names none."""
    if program.parent != Path(_root(), "shims"):
        return None
    own = Path(_root(), "bin", "pyenv")
    try:
        argv = [own if own.is_file() else "pyenv", "which", program.name]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    found = Path(done.stdout.strip())
    return found if found.is_absolute() and found.is_file() else None


def _root() -> str:
    return os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")  # noqa: PTH111 - a Path raises where there is no home
