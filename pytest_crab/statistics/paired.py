"""Two runs over the same oracles: exact McNemar, a test that knows clusters, Holm, agreement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from pytest_crab.statistics.distributions import sign_test

#: Differences are multiples of one in this many.
_GRID = 840


def mcnemar(lost: int, gained: int) -> float:
    """The exact two-sided p of ``lost`` against ``gained`` oracles, taken as independent of each other.

    Fewer than six that all go one way can never be below 0.05.
    """
    return sign_test(min(lost, gained), lost + gained)


def swap_chances(sums: Iterable[float]) -> tuple[float, float]:
    """Return the exact one-sided p of a drop and of a gain, if two runs could be swapped cluster by cluster.

    ``sums`` are the clusters' sums of differences. Each p is the chance that a sum over all clusters is as far on that
    side as what was seen. Values are taken to the nearest 1/840, so that up to eight repeats are exact.
    """
    parts = [part for part in (round(_GRID * value) for value in sums) if part]
    if not parts:
        return 1.0, 1.0
    step = math.gcd(*parts)
    sizes = [abs(part) // step for part in parts]
    below = sum(size for size, part in zip(sizes, parts, strict=True) if part < 0)
    above = sum(sizes) - below
    width = len(parts) + 1  # the bits of one count: a number has the count of all swaps with each sum
    shown = min(below, above)  # sums from both ends are alike, so only those up to the nearer end are counted
    kept = (1 << ((shown + 1) * width)) - 1
    ways = 1
    for size in sizes:
        ways = (ways + (ways << (size * width))) & kept if size <= shown else ways
    near = _sum_of_counts(ways, shown + 1, width)
    far = 2 ** len(parts) - near + (ways >> (shown * width))
    chances = near / 2 ** len(parts), far / 2 ** len(parts)
    return chances if above < below else chances[::-1]


def _sum_of_counts(ways: int, count: int, width: int) -> int:
    """Return the sum of so many counts, of ``width`` bits each, in one number; the sum itself fits into them."""
    while count > 1:
        count = (count + 1) // 2
        ways = (ways >> (count * width)) + (ways & ((1 << (count * width)) - 1))
    return ways


def two_sided(chances: tuple[float, float]) -> float:
    """Return the two-sided p of both one-sided ones."""
    return min(1.0, 2 * min(chances))


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
