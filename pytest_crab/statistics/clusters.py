"""Intervals for means of values that come in clusters: few, uneven, and alike within."""

from __future__ import annotations

import math
from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.statistics.distributions import t_quantile

#: The share of two-sided intervals that hold the truth.
LEVEL = 0.95

#: How alike values within a cluster are taken to be where all values are the same and show nothing of it.
ASSUMED_CORRELATION = 0.1

#: The least that clustering is taken to save: clusters that look evener than chance are luck, and few.
LEAST_EFFECT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How sure a mean of clustered values is.

    ``variance`` is the mean's, by CR2 (Bell and McCaffrey 2002); ``independent`` what it would be without clusters;
    ``df`` are Satterthwaite's degrees of freedom; ``effect`` is the design effect that intervals use.
    """

    count: int
    clusters: int
    mean: float
    variance: float
    independent: float
    df: float
    effect: float


def spread(values: Sequence[float], clusters: Sequence[Hashable]) -> Spread:
    """Return the mean of ``values`` and how sure it is; at least one value. One cluster alone counts as none.

    The estimator is that of a regression on a constant, for which CR2 and its degrees of freedom have closed forms.
    """
    count = len(values)
    sizes, sums = _groups(values, clusters)
    if len(sizes) == 1 and count > 1:
        sizes, sums = _groups(values, range(count))
    mean = math.fsum(values) / count
    independent = math.fsum((value - mean) ** 2 for value in values) / (count * (count - 1)) if count > 1 else 0.0
    if count == 1:
        return Spread(count=1, clusters=1, mean=mean, variance=0, independent=0, df=1, effect=1)
    weights = {name: 1 / (1 - size / count) for name, size in sizes.items()}
    variance = math.fsum(weights[name] * (sums[name] - sizes[name] * mean) ** 2 for name in sizes) / count**2
    if independent > 1e-12:
        effect = max(LEAST_EFFECT, variance / independent)
    else:
        effect = 1 + ASSUMED_CORRELATION * (sum(size * size for size in sizes.values()) / count - 1)
    return Spread(
        count=count,
        clusters=len(sizes),
        mean=mean,
        variance=variance,
        independent=independent,
        df=_degrees(list(sizes.values())),
        effect=effect,
    )


def rate_interval(values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL) -> tuple[float, float]:
    """The interval of a mean of values from 0 to 1: Wilson's, with the effective count and Student's t.

    The effective count is what as many independent values would have to be to be as sure as these are. Where all
    values are the same, nothing shows how alike clusters are, and ASSUMED_CORRELATION is taken.
    """
    own = spread(values, clusters)
    inside = own.mean * (1 - own.mean)
    variance = own.effect * own.independent
    effective = inside / variance if variance > 1e-12 and inside > 1e-12 else own.count / own.effect
    t2 = t_quantile((1 + level) / 2, own.df) ** 2
    middle = (own.mean + t2 / (2 * effective)) / (1 + t2 / effective)
    half = math.sqrt(t2 * (max(0.0, inside) / effective + t2 / (4 * effective**2))) / (1 + t2 / effective)
    return max(0.0, min(middle - half, own.mean)), min(1.0, max(middle + half, own.mean))


def difference_interval(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL
) -> tuple[float, float]:
    """The interval of a mean of differences from -1 to 1 between pairs.

    Bonett and Price (2012) add one pair to each side, so that runs without a difference do not look certain; their
    variance is multiplied by the design effect, and Student's t takes the place of the normal.
    """
    own = spread(values, clusters)
    count, total = own.count + 2, math.fsum(values)
    mean = total / count
    variance = (math.fsum(value * value for value in values) + 2 - total * mean) / count**2
    half = t_quantile((1 + level) / 2, own.df) * math.sqrt(own.effect * variance)
    return max(-1.0, mean - half), min(1.0, mean + half)


def correlation_of(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """How alike values within a cluster are, from the design effect; 0 where every cluster has one value.

    At most 1, and below 0 where clusters are evener than chance: who cuts that off finds clusters alike that are not,
    on average.
    """
    own = spread(values, clusters)
    sizes, _ = _groups(values, clusters)
    crowd = sum(size * size for size in sizes.values()) / own.count
    return min(1.0, (own.effect - 1) / (crowd - 1)) if crowd > 1 and len(sizes) > 1 else 0.0


def degrees_of_freedom(sizes: Sequence[int]) -> float:
    """Satterthwaite's degrees of freedom of a mean over clusters of these sizes; one cluster alone counts as none."""
    return _degrees([1] * sizes[0] if len(sizes) == 1 else list(sizes))


def _degrees(sizes: Sequence[int]) -> float:
    count = sum(sizes)
    if len(sizes) < 2:
        return 1.0
    weights = [1 / (1 - size / count) for size in sizes]
    own = math.fsum((weight * (size - size * size / count)) ** 2 for weight, size in zip(weights, sizes, strict=True))
    squares = [weight * size * size for weight, size in zip(weights, sizes, strict=True)]
    others = (math.fsum(squares) ** 2 - math.fsum(square * square for square in squares)) / count**2
    return count * count / (own + others)


def _groups(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[Mapping[Hashable, int], Mapping[Hashable, float]]:
    sizes: dict[Hashable, int] = {}
    sums: dict[Hashable, float] = {}
    for value, name in zip(values, clusters, strict=True):
        sizes[name] = sizes.get(name, 0) + 1
        sums[name] = sums.get(name, 0.0) + value
    return sizes, sums
