"""What several reviewers catch together: union, overlap, what one alone catches, and what adding one is worth."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Mapping


def unique(caught: Mapping[str, Collection[Hashable]]) -> dict[str, int]:
    """How many each one catches that no other does."""
    return {
        name: len(set(own).difference(*(other for who, other in caught.items() if who != name)))
        for name, own in caught.items()
    }


def union(caught: Mapping[str, Collection[Hashable]]) -> set[Hashable]:
    """What anyone catches."""
    return set().union(*caught.values())


def added(first: Collection[Hashable], second: Collection[Hashable]) -> int:
    """How many more are caught if ``second`` is asked beside ``first``."""
    return len(set(second) - set(first))
