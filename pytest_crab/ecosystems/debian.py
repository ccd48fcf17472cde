"""Debian's packages on this machine, for the base images of languages that come by them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

#: Folders of packages that neither a build nor a run reads.
_UNREAD = tuple(f"/usr/share/{name}/" for name in ("doc", "man", "info", "locale", "lintian", "ri"))


def copy_packages(root: Path, packages: Sequence[str]) -> list[Path]:
    """Copy the files of those of the packages that are here to the same places below ``root``, if nothing is there.

    Packages are patterns of names. Return the programs among the files; nothing where Debian's tools are not.
    """
    programs = []
    for file in _files_of(packages):
        place = root / file.relative_to("/")
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place, follow_symlinks=False)
            programs += [file] if file.parent == Path("/usr/bin") and not file.is_symlink() else []
    return programs


def _files_of(packages: Sequence[str]) -> list[Path]:
    if shutil.which("dpkg-query") is None:
        return []
    ask = ["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *packages]  # held ones are here too
    listed = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.split("\n")
    here = [line.split()[0] for line in listed if line.split()[1:] == ["installed"]]
    found = subprocess.run(["dpkg-query", "-L", *here], capture_output=True, text=True, check=False).stdout
    paths = [Path(line) for line in found.split("\n") if line.startswith("/usr/") and not line.startswith(_UNREAD)]
    return [path for path in paths if path.is_file()]
