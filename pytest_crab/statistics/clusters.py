"""Intervals for means of values that come in clusters: few, uneven, and alike within."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.distributions import beta_quantile, t_quantile
from pytest_crab.statistics.paired import swap_chances

#: The share of two-sided intervals that hold the truth.
LEVEL = 0.95

#: The correlation within clusters that is assumed where all verdicts are the same, which says nothing about it.
ASSUMED_CORRELATION = 0.3

#: How far from 0 the end of an interval is at least where the test shows that 0 is not the difference.
_BESIDE = 1e-9

#: The smallest design effect: clusters that look evener than chance are luck.
LEAST_EFFECT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredMean:
    """A mean of clustered values and how sure it is."""

    count: int
    clusters: int
    mean: float
    #: The mean's, by CR2 (Bell and McCaffrey 2002).
    variance: float
    #: The variance that it would have without clusters.
    independent: float
    #: Satterthwaite's degrees of freedom; 0 with one cluster, where nothing is known of how clusters differ.
    df: float
    #: The design effect.
    effect: float
    #: Clusters that hold the rarer extreme: a value above the lowest possible one or below the highest, whichever are
    #: fewer.
    informative: int


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> ClusteredMean:
    """Return the mean of at least one value from 0 to 1, or of differences, with its variance by CR2.

    The estimator is that of a regression on a constant, for which CR2 and its degrees of freedom have closed forms.
    """
    count = len(values)
    sizes, sums = _groups(values, clusters)
    mean = math.fsum(values) / count
    independent = math.fsum((value - mean) ** 2 for value in values) / (count * (count - 1)) if count > 1 else 0.0
    variance = _cr2(sizes, sums, mean)
    if independent > 1e-12:
        effect = max(LEAST_EFFECT, variance / independent)
    else:
        effect = 1 + ASSUMED_CORRELATION * (crowding(list(sizes.values())) - 1)
    return ClusteredMean(
        count=count,
        clusters=len(sizes),
        mean=mean,
        variance=variance,
        independent=independent,
        df=degrees_of_freedom(list(sizes.values())),
        effect=effect,
        informative=min(
            sum(sums[name] > 1e-9 for name in sizes),
            sum(sums[name] < size - 1e-9 for name, size in sizes.items()),
        ),
    )


def rate_interval(values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval of a mean of values from 0 to 1, with the effective count and Student's t.

    The effective count is the number of independent values that would be as sure as these are. A cluster without any
    of the rarer verdict says little about how clusters differ, so degrees of freedom are at most one and a half times
    the clusters that hold it. One cluster alone bounds nothing: the interval is from 0 to 1.
    """
    own = clustered_mean(values, clusters)
    if own.clusters < 2:
        return 0.0, 1.0
    inside = own.mean * (1 - own.mean)
    variance = own.effect * own.independent
    known = variance > 1e-12 and inside > 1e-12
    effective = inside / variance if known else own.count / own.effect
    df = min(own.df, 1.5 * own.informative) if known else own.df
    t2 = t_quantile((1 + level) / 2, df) ** 2
    middle = (own.mean + t2 / (2 * effective)) / (1 + t2 / effective)
    half = math.sqrt(t2 * (max(0.0, inside) / effective + t2 / (4 * effective**2))) / (1 + t2 / effective)
    return max(0.0, min(middle - half, own.mean)), min(1.0, max(middle + half, own.mean))


def rare_interval(successes: Sequence[bool], clusters: Sequence[Hashable], level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a share that is near 0 or 1: Clopper and Pearson's with the effective count.

    After Korn and Graubard (1998): the count is divided by the design effect, at least 1, and by what few clusters cost
    in degrees of freedom. Where all are the same no effect is seen, and one is assumed. One cluster bounds nothing.
    """
    own = clustered_mean([float(one) for one in successes], clusters)
    if own.clusters < 2:
        return 0.0, 1.0
    tail = (1 - level) / 2
    freedom = (t_quantile(1 - tail, own.count - 1) / t_quantile(1 - tail, own.clusters - 1)) ** 2
    effective = own.count / max(1.0, own.effect) * freedom
    hits = own.mean * effective
    low = beta_quantile(tail, hits, effective - hits + 1) if hits > 0 else 0.0
    high = beta_quantile(1 - tail, hits + 1, effective - hits) if hits < effective else 1.0
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEstimate:
    """A mean of differences."""

    mean: float
    #: The standard error of the mean.
    error: float
    df: float
    #: The one-sided p of a drop (swap_chances).
    p_drop: float
    #: The one-sided p of a gain, likewise.
    p_gain: float

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the two-sided interval, within -1 to 1; it holds 0 unless the test at this level shows a change."""
        chance = (1 - level) / 2
        half = t_quantile(1 - chance, self.df) * self.error if self.df else 2.0
        low, high = max(-1.0, self.mean - half), min(1.0, self.mean + half)
        low = max(low, _BESIDE) if self.p_gain < chance else min(low, 0.0)
        high = min(high, -_BESIDE) if self.p_drop < chance else max(high, 0.0)
        return low, high


def difference_estimate(values: Sequence[float], clusters: Sequence[Hashable]) -> DifferenceEstimate:
    """Estimate the mean of differences from -1 to 1 between pairs, whose clusters are alike within.

    Whether it is a drop or a gain is decided by an exact test (swap_chances). The error is that of CR2, for Student's t
    with Satterthwaite's degrees of freedom; where no pair differs it is as if one was lost and one gained. One cluster
    alone shows nothing.
    """
    sizes, sums = _groups(values, clusters)
    count, mean = len(values), math.fsum(values) / len(values)
    error = math.sqrt(_cr2(sizes, sums, mean)) if any(values) else math.sqrt(2) / count
    p_drop, p_gain = swap_chances(sums.values())
    df = degrees_of_freedom(list(sizes.values()))
    return DifferenceEstimate(mean=mean, error=error, df=df, p_drop=p_drop, p_gain=p_gain)


def crowding(sizes: Sequence[int]) -> float:
    """Return how many values share a value's cluster on average, itself included."""
    return sum(size * size for size in sizes) / sum(sizes)


def correlation_of(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the correlation within clusters, from the design effect; 0 where every cluster has one value.

    At most 1, and below 0 where clusters are evener than chance: cutting that off would find clusters alike that are
    not, on average.
    """
    own = clustered_mean(values, clusters)
    crowd = crowding(list(_groups(values, clusters)[0].values()))
    return min(1.0, (own.effect - 1) / (crowd - 1)) if crowd > 1 and own.clusters > 1 else 0.0


def degrees_of_freedom(sizes: Sequence[int]) -> float:
    """Return Satterthwaite's degrees of freedom of a mean over clusters of these sizes; 0 of a single cluster."""
    count = sum(sizes)
    if len(sizes) < 2:
        return 0.0
    weights = [1 / (1 - size / count) for size in sizes]
    own = math.fsum((weight * (size - size * size / count)) ** 2 for weight, size in zip(weights, sizes, strict=True))
    squares = [weight * size * size for weight, size in zip(weights, sizes, strict=True)]
    others = (math.fsum(squares) ** 2 - math.fsum(square * square for square in squares)) / count**2
    return count * count / (own + others)


def _cr2(sizes: Mapping[Hashable, int], sums: Mapping[Hashable, float], mean: float) -> float:
    """Return the variance of the mean (Bell and McCaffrey 2002)."""
    count = sum(sizes.values())
    weights = {name: 1 / (1 - size / count) if size < count else 0.0 for name, size in sizes.items()}
    return math.fsum(weights[name] * (sums[name] - size * mean) ** 2 for name, size in sizes.items()) / count**2


def _groups(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[Mapping[Hashable, int], Mapping[Hashable, float]]:
    sizes: dict[Hashable, int] = {}
    sums: dict[Hashable, float] = {}
    for value, name in zip(values, clusters, strict=True):
        sizes[name] = sizes.get(name, 0) + 1
        sums[name] = sums.get(name, 0.0) + value
    return sizes, sums
