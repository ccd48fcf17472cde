"""Tells from its paths what kind of change a pull request is: documentation, dependency updates."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from pytest_crab import ecosystems

_DEPENDENCIES = r"[\w.-]+\.lock|\.pre-commit-config\.yaml"
_DOCUMENT_FOLDERS = frozenset({"doc", "docs", "documentation"})
_DOCUMENT = re.compile(
    r"\.(?:md|rst|adoc|mdx)$|^(?:AUTHORS|CHANGELOG|CHANGES|CONTRIBUTORS|CONTRIBUTING|HISTORY|LICENSE|README|NEWS)"
    r"(?:\.\w+)?$",
    re.IGNORECASE,
)
_UPDATERS = ("dependabot", "renovate", "pyup-bot", "greenkeeper", "snyk-bot", "depfu", "scala-steward")
_BUMP = re.compile(
    r"^(?:\w+(?:\([\w-]+\))?!?:\s*)?(?:bump|update|upgrade)s?\b.*\b(?:from\s+\S+\s+to\s+\S+|dependenc(?:y|ies)|to\s+v?\d)",
    re.IGNORECASE,
)


def is_documentation(path: str) -> bool:
    """Return whether a file is documentation, by its folder or its name."""
    place = PurePosixPath(path)
    return any(part.lower() in _DOCUMENT_FOLDERS for part in place.parts[:-1]) or bool(_DOCUMENT.search(place.name))


def is_dependency_update(author: str, title: str, paths: Sequence[str]) -> bool:
    """Return whether a pull request only updates dependencies: by an updater, or by its title and its files."""
    if any(name in author.lower() for name in _UPDATERS):
        return True
    manifests = bool(paths) and all(map(says_dependencies, paths))
    return manifests and bool(_BUMP.search(title.strip()))


def says_dependencies(path: str) -> bool:
    """Return whether a file says which packages a project takes, by its name."""
    return bool(_dependencies().fullmatch(PurePosixPath(path).name))


@functools.cache
def _dependencies() -> re.Pattern[str]:
    found = (one.dependencies for one in ecosystems.names() if one.dependencies)
    return re.compile("|".join(f"(?:{one})" for one in (_DEPENDENCIES, *found)))
