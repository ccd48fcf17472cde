"""Two runs over the same oracles: exact McNemar, a test that knows clusters, Holm, agreement."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from pytest_crab.statistics.distributions import sign_test

#: How many draws a test or an interval takes where counting all possibilities would take longer.
DRAWS = 10_000

#: The seed of every draw, so that the same records give the same numbers.
SEED = 20_260_323


def mcnemar(lost: int, gained: int) -> float:
    """The exact two-sided p of ``lost`` against ``gained`` oracles, taken as independent of each other.

    Fewer than six that all go one way can never be below 0.05.
    """
    return sign_test(min(lost, gained), lost + gained)


def cluster_permutation_test(
    differences: Sequence[float], clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = SEED
) -> float:
    """The two-sided p that a sum of differences this far from 0 has if the runs could be swapped cluster by cluster.

    Exact up to 13 clusters that differ; else so many seeded draws, of which what was seen is one.
    """
    sums: dict[Hashable, float] = {}
    for value, name in zip(differences, clusters, strict=True):
        sums[name] = sums.get(name, 0.0) + value
    parts = [value for value in sums.values() if abs(value) > 1e-12]
    seen, total = abs(sum(parts)) - 1e-9, sum(parts)
    if not parts:
        return 1.0
    if 2 ** len(parts) <= draws:
        drawn = [total]
        for part in parts:
            drawn += [value - 2 * part for value in drawn]
        return sum(abs(value) >= seen for value in drawn) / len(drawn)
    source = random.Random(seed)  # noqa: S311 - statistics, no secret
    tables = [_swings(parts[at : at + 8]) for at in range(0, len(parts), 8)]
    hits = 1
    for _ in range(draws):
        bits = source.getrandbits(8 * len(tables))
        value = total
        for table in tables:
            value -= table[bits & (len(table) - 1)]
            bits >>= 8
        hits += abs(value) >= seen
    return hits / (draws + 1)


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """Adjust one p per name so that the chance of any false alarm among all stays what it is (Holm 1979)."""
    adjusted: dict[str, float] = {}
    least = 0.0
    for at, name in enumerate(sorted(chances, key=lambda name: chances[name])):
        least = max(least, min(1.0, (len(chances) - at) * chances[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in chances}


def kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two raters over the same things; None of nothing, and if both give all one label."""
    count = len(one)
    agree = count * sum(a == b for a, b in zip(one, other, strict=True))
    first, second = Counter(one), Counter(other)
    chance = sum(first[label] * second[label] for label in first)
    return (agree - chance) / (count**2 - chance) if chance < count**2 else None


def _swings(parts: Sequence[float]) -> list[float]:
    """Return for each choice among up to eight parts what the sum loses when they change their signs."""
    swings = [0.0]
    for part in parts:
        swings += [value + 2 * part for value in swings]
    return swings
