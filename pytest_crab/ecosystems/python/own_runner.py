"""Tells projects that run oracles: an oracle imports the environment's release of them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence

#: The module that tells a project.
_MODULES = {name: name for name in ("pluggy", "packaging", "iniconfig", "pygments")} | {"pytest": "_pytest"}


def own_runner(read: Callable[[str], bytes | None], roots: Sequence[str]) -> str:
    """Return a sentence if a tree, whose files ``read`` returns, has what runs oracles at an import root; else nothing.

    An oracle then tests nothing of the tree's pytest or of a library that pytest runs on: it imports the release in the
    environment, since the code under test must not report its own results.
    """
    for project, module in _MODULES.items():
        names = (f"{root}/{module}{end}" for root in roots for end in ("/__init__.py", ".py"))
        if any(read(posixpath.normpath(name)) is not None for name in names):
            return (
                f"the project is {project} itself, and an oracle is run by a release of it in the environment and "
                "imports that one: let it start the project's in a process of its own, [sys.executable, '-m' or '-c', "
                "...], give it isolation: process, and do not install the project"
            )
    return ""
