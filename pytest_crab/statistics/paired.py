"""Two runs over the same oracles: exact McNemar, a test that knows clusters, Holm, agreement."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

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
    below, above = -sum(one for one in parts if one < 0) // step, sum(one for one in parts if one > 0) // step
    shown = min(below, above)  # sums from both ends are alike, so only those up to the nearer end are counted
    (size, alike), *others = Counter(abs(part) // step for part in parts).most_common()
    chosen = [1]  # the ways to take 0, 1 and so on of those that are alike: by a formula, while others are counted
    for at in range(min(alike, shown // size)):
        chosen.append(chosen[-1] * (alike - at) // (at + 1))
    up_to = list(itertools.accumulate(chosen))
    near = exact = 0
    for total, ways in enumerate(_ways(Counter(dict(others)).elements(), shown)):
        number, rest = divmod(shown - total, size)
        near += ways * up_to[min(number, alike)]
        exact += ways * chosen[number] if not rest and number <= alike else 0
    whole = 2 ** len(parts)
    chances = near / whole, (whole - near + exact) / whole
    return chances if above < below else chances[::-1]


def _ways(sizes: Iterable[int], most: int) -> Iterator[int]:
    """Yield in how many ways some of these sizes add up to 0, to 1 and so on, up to ``most``."""
    parts = list(sizes)
    width = len(parts) // 8 + 1  # the bytes of one count: one number has the counts of all sums, and is added at once
    kept = (1 << (8 * width * (most + 1))) - 1
    ways = 1
    for size in parts:
        ways = (ways + (ways << (8 * width * size))) & kept if size <= most else ways
    packed = ways.to_bytes(width * (most + 1), "little")
    return (int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width))


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
