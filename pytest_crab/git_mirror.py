"""The other places where repositories are than their addresses: CRAB_GIT_MIRROR, and what git needs to read there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

#: Says where else repositories are: a folder or the start of a URL, to which /owner/name is added.
MIRROR = "CRAB_GIT_MIRROR"

#: Settings of git: a mirror on this machine may belong to another user, and may not offer every commit by its sha.
SETTINGS = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n"


def places(url: str) -> Iterator[str]:
    """Yield the folders and URLs to fetch a repository from, those of the mirror first."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    if mirror:
        mirror = mirror if "://" in mirror else str(Path(mirror).absolute())
        yield f"{mirror}/{owner_and_name(url)}.git"
        yield f"{mirror}/{owner_and_name(url)}"
    yield url


def owner_and_name(url: str) -> str:
    """Return the end of a repository's address by which a mirror knows it."""
    return "/".join(urlsplit(url).path.strip("/").removesuffix(".git").split("/")[-2:])


def is_local(place: str) -> bool:
    """Return whether a place to fetch from is a folder of this machine."""
    return "://" not in place
