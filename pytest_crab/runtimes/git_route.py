"""The route of a build to packages in git repositories: those in a mirror on this machine come from there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_crab.git_mirror import SETTINGS, is_local, places
from pytest_crab.parsing.changed_paths import says_dependencies

#: A repository's address, as locks, manifests and commands spell it.
_ADDRESS = re.compile(r"(?:https?|ssh|git)://[\w.@:-]+(?:/\w[\w.~-]*){2,}")
#: Submodules are taken from the mirror as well.
_SETTINGS = f'{SETTINGS}[protocol "file"]\n\tallow = always\n'


class GitRoute(NamedTuple):
    """Variables for whatever runs git, and the files that they lead to, where a sandbox would not see them."""

    env: Mapping[str, str]
    files: Mapping[str, Path]


def git_route(settings: Path, tree: Path, paths: Iterable[str], commands: Iterable[str]) -> GitRoute:
    """Return the route to the repositories that a tree's packages come from; empty where a mirror has none of them.

    They are named by commands and, of the paths, by the files that say which dependencies come. ``settings`` is the
    file that is written for git. An address that only begins as one of theirs stays as it is.
    """
    files = (tree / path for path in paths if says_dependencies(path))
    texts = (file.read_text("utf-8", "replace") for file in files if file.is_file())
    addresses = {address for text in (*commands, *texts) for address in _ADDRESS.findall(text)}
    found = {address: place for address in addresses if (place := _mirrored(address)) is not None}
    if not found:
        return GitRoute({}, {})
    routes = {address: address for address in addresses if address.startswith(tuple(found))}
    routes |= {address: place.as_uri() for address, place in found.items()}
    lines = [f"[url {json.dumps(to)}]\n\tinsteadOf = {address}\n" for address, to in sorted(routes.items())]
    settings.write_text("".join([_SETTINGS, *lines]), encoding="utf-8")
    repositories = {str(place): place.resolve() for place in found.values()}
    return GitRoute({"GIT_CONFIG_SYSTEM": str(settings)}, {str(settings): settings, **repositories})


def _mirrored(address: str) -> Path | None:
    folders = (Path(place) for place in places(address) if is_local(place))
    return next((folder for folder in folders if folder.is_dir()), None)
