"""Facts on the tools of each language: one module a language, and nothing of it elsewhere."""

from __future__ import annotations

from pytest_crab.ecosystems import node, python
from pytest_crab.ecosystems.patterns import Patterns

#: What builds and test runs of any language leave: a project may use several. It is never part of a revision.
LEFTOVERS: Patterns = python.LEFTOVERS + node.LEFTOVERS

#: Folders in which a system keeps packages for all its users, as patterns of paths.
SYSTEM_PACKAGES: tuple[str, ...] = python.PACKAGES + node.PACKAGES
