"""Imports of this package's modules in a process of pytest, as in any other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from typing_extensions import override


class _OwnModules(MetaPathFinder):
    """Finds modules of this package before pytest does, which rewrites the assertions of all that a plugin has.

    No user's test reads one of these, and parsing 300 modules is more than half of a first start.
    """

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path) if fullname.startswith("pytest_crab.") else None


def take_as_they_are() -> None:
    """Import modules of this package from now on without any change to their code."""
    if not any(isinstance(finder, _OwnModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OwnModules())
