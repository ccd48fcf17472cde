"""Maximum one-to-one matching."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


def largest_matching(candidates: Mapping[K, Sequence[V]]) -> dict[K, V]:
    """Return as many pairs as there can be in which each key and each of its candidates occurs once.

    Augmenting paths, breadth first. Keys come in their own order; a key without a partner is left out.
    """
    owners: dict[V, K] = {}
    partners: dict[K, V] = {}
    closed: set[V] = set()
    for start in filter(candidates.__getitem__, candidates):
        free, reached = _free_candidate(start, candidates, owners, closed)
        if free is None:  # what it reached leads to no free candidate, and so never will
            closed |= reached.keys()
        while free is not None:  # each key on the path takes the candidate that it reached, and leaves its own
            key = reached[free]
            left = partners.get(key)
            owners[free], partners[key] = key, free
            free = left
    return {key: partners[key] for key in candidates if key in partners}


def _free_candidate(
    start: K, candidates: Mapping[K, Sequence[V]], owners: Mapping[V, K], closed: Container[V]
) -> tuple[V | None, dict[V, K]]:
    """Return a candidate without an owner that ``start`` reaches, and the key that each candidate was reached from.

    No way leads through ``closed`` candidates.
    """
    reached: dict[V, K] = {}
    queue = [start]
    for key in queue:
        for value in candidates[key]:
            if value not in reached and value not in closed:
                reached[value] = key
                if value not in owners:
                    return value, reached
                queue.append(owners[value])
    return None, reached
