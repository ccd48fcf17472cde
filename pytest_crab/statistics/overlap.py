"""Overlap of several reviewers: what one alone catches, and what each choice of them does."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping


def unique(caught: Mapping[str, Collection[Hashable]]) -> dict[str, int]:
    """Return by name how many keys it catches that no other does."""
    return {
        name: len(set(own).difference(*(other for who, other in caught.items() if who != name)))
        for name, own in caught.items()
    }


def overlaps(
    keys: Iterable[Hashable], caught: Mapping[str, Collection[Hashable]], *, every: bool
) -> dict[tuple[str, ...], int]:
    """Return by choice of names how many of ``keys`` all of them catch and no other, smaller choices first.

    ``every`` choice, or only those that occur, in the order of the keys.
    """
    names = tuple(caught)
    counts: dict[tuple[str, ...], int] = {}
    for size in range(len(names) + 1 if every else 0):
        counts.update(dict.fromkeys(itertools.combinations(names, size), 0))
    for key in keys:
        who = tuple(name for name in names if key in caught[name])
        counts[who] = counts.get(who, 0) + 1
    return counts
