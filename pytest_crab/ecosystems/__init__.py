"""Facts on the tools of each language: one module a language, and nothing of it elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pytest_crab.ecosystems import node, python
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.types import Environment

#: What builds and test runs of any language leave: a project may use several. It is never part of a revision.
LEFTOVERS: Patterns = python.LEFTOVERS + node.LEFTOVERS

#: Folders in which a system keeps packages for all its users, as patterns of paths.
SYSTEM_PACKAGES: tuple[str, ...] = python.PACKAGES + node.PACKAGES


def needs_install(environment: Environment, changed: Iterable[str], compiled: Collection[str]) -> bool:
    """Return whether a tree in which these files changed has to be installed anew.

    ``compiled`` are the modules that head's install compiled.
    """
    ecosystem = python if environment.node is None else node
    return bool(environment.install) and ecosystem.needs_install(changed, compiled)
