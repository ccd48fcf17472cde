"""Node.js: its package managers, and its runners of tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pytest_crab.ecosystems.patterns import Patterns

LEFTOVERS = Patterns(
    names=("node_modules", ".npm", ".nyc_output", ".eslintcache", "*.tsbuildinfo"),
    marks=("lcov.info", "coverage-final.json"),  # a report on coverage, whatever it is called
)

#: Where a system keeps packages for all its users.
PACKAGES = ("/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/nodejs")


def needs_install(changed: Iterable[str], compiled: Collection[str]) -> bool:  # noqa: ARG001 - as in each language
    """Return False: what is installed is the environment's, whatever a tree changes."""
    return False
