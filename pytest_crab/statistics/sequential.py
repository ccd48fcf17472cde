"""A chance of an error, spent over several looks at growing data, and the parts of the data that looks come after."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping
from statistics import NormalDist

_NORMAL = NormalDist()

#: The chance that is spent by a look goes with this power of the share of the data: little early, most at the end.
_POWER = 2

#: Points of the grid that densities are summed over, and its least value: no statistic lies below.
_POINTS, _LEAST = 120, -8.0


def share_spent(look: int, looks: int) -> float:
    """Return the share of the chance of an error that is spent once this look, from 1 on, was taken."""
    return (look / looks) ** _POWER


@functools.cache
def look_chances(chance: float, looks: int) -> tuple[float, ...]:
    """Return the one-sided chance of an error for each of so many looks, so that any look errs with ``chance`` at most.

    The looks come after equal parts of the data (Lan and DeMets 1983; Kim and DeMets 1987, with a power of 2). Looks
    whose data are more alike, such as after repeats, err less often.
    """
    # Scores S(k) are sums of k standard normal steps; the k-th look claims above a bound of S(k) / sqrt(k).
    step = NormalDist()
    grid = [0.0]
    density = [1.0]
    width = 1.0
    chances = []
    for look in range(1, looks + 1):
        due = chance * (share_spent(look, looks) - share_spent(look - 1, looks))
        low, high = 0.0, -_LEAST * math.sqrt(look)
        for _ in range(60):
            bound = (low + high) / 2
            above = width * math.fsum(own * step.cdf(at - bound) for at, own in zip(grid, density, strict=True))
            low, high = (bound, high) if above > due else (low, bound)
        chances.append(1 - _NORMAL.cdf(high / math.sqrt(look)))
        least = _LEAST * math.sqrt(look)
        new_width = (high - least) / _POINTS
        points = [least + new_width * (at + 0.5) for at in range(_POINTS)]
        density = [
            width * math.fsum(own * step.pdf(point - at) for at, own in zip(grid, density, strict=True))
            for point in points
        ]
        grid, width = points, new_width
    return tuple(chances)


def parts_in_random_order(sizes: Mapping[str, int], parts: int, seed: str) -> dict[str, int]:
    """Return the part, from 1 on, of each cluster of these sizes, in a random order that the seed fixes.

    Parts are about equally large; one may be empty where a cluster is larger than a part.
    """
    names = sorted(sizes)
    random.Random(seed).shuffle(names)  # noqa: S311 - statistics, no secret
    total, before, found = sum(sizes.values()), 0, {}
    for name in names:
        middle = before + sizes[name] / 2
        found[name] = min(parts, 1 + int(parts * middle / total))
        before += sizes[name]
    return found
