"""Intervals for means of values that come in clusters: few, uneven, and alike within."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.distributions import beta_quantile, t_cdf, t_quantile

#: The share of two-sided intervals that hold the truth.
LEVEL = 0.95

#: The correlation within clusters that is assumed where all verdicts are the same, which says nothing about it.
ASSUMED_CORRELATION = 0.3

#: The same for differences of paired verdicts, which are less alike than verdicts.
ASSUMED_DIFFERENCE_CORRELATION = 0.1

#: The smallest design effect: clusters that look evener than chance are luck.
LEAST_EFFECT = 0.5

#: Differences are judged as if so many more average clusters pulled against what is claimed (see ``widening``): to
#: rule out a drop takes more prudence than to show one, since what fell in few clusters only is easily missed.
PRUDENCE_AGAINST_DROP, PRUDENCE_FOR_DROP = 10, 3

#: Prudence widens an interval by at most this share: with few clusters, degrees of freedom widen it already.
MOST_WIDENING = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredMean:
    """A mean of clustered values and how sure it is.

    ``variance`` is the mean's, by CR2 (Bell and McCaffrey 2002); ``independent`` what it would be without clusters;
    ``df`` are Satterthwaite's degrees of freedom; ``effect`` is the design effect; ``informative`` counts the clusters
    that hold the rarer extreme: a value above the lowest possible one or below the highest, whichever are fewer. With
    one cluster nothing is known of how clusters differ: ``df`` is 0.
    """

    count: int
    clusters: int
    mean: float
    variance: float
    independent: float
    df: float
    effect: float
    informative: int


def clustered_mean(
    values: Sequence[float], clusters: Sequence[Hashable], *, assumed: float = ASSUMED_CORRELATION
) -> ClusteredMean:
    """Return the mean of at least one value from 0 to 1, or of differences, with its variance by CR2.

    The estimator is that of a regression on a constant, for which CR2 and its degrees of freedom have closed forms.
    ``assumed`` is the correlation within clusters where all values are the same.
    """
    count = len(values)
    sizes, sums = _groups(values, clusters)
    mean = math.fsum(values) / count
    independent = math.fsum((value - mean) ** 2 for value in values) / (count * (count - 1)) if count > 1 else 0.0
    weights = {name: 1 / (1 - size / count) if size < count else 0.0 for name, size in sizes.items()}
    variance = math.fsum(weights[name] * (sums[name] - sizes[name] * mean) ** 2 for name in sizes) / count**2
    if independent > 1e-12:
        effect = max(LEAST_EFFECT, variance / independent)
    else:
        effect = 1 + assumed * (crowding(list(sizes.values())) - 1)
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
    """An estimate of a mean of paired differences.

    ``error`` is its standard error, ``df`` are Student's degrees of freedom, and ``below`` and ``above`` the factors
    by which prudence widens the interval on either side.
    """

    middle: float
    error: float
    df: float
    below: float
    above: float

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the two-sided interval, within -1 to 1."""
        if not self.df:
            return -1.0, 1.0
        half = t_quantile((1 + level) / 2, self.df) * self.error
        return max(-1.0, self.middle - self.below * half), min(1.0, self.middle + self.above * half)

    def p_below(self, limit: float) -> float:
        """Return the one-sided p of a mean at least ``limit``: the chance of an estimate as low as this one."""
        return t_cdf((self.middle - limit) / (self.above * self.error), self.df) if self.df else 1.0


def difference_estimate(values: Sequence[float], clusters: Sequence[Hashable]) -> DifferenceEstimate:
    """Estimate the mean of differences from -1 to 1 between pairs.

    Bonett and Price (2012) add one pair to each side, so that runs without a difference do not look certain; their
    variance is multiplied by the design effect, and Student's t takes the place of the normal. The interval is widened
    (see ``widening``). One cluster alone shows nothing.
    """
    own = clustered_mean(values, clusters, assumed=ASSUMED_DIFFERENCE_CORRELATION)
    count, total = own.count + 2, math.fsum(values)
    mean = total / count
    variance = (math.fsum(value * value for value in values) + 2 - total * mean) / count**2
    sizes = list(_groups(values, clusters)[0].values())
    return DifferenceEstimate(
        middle=mean,
        error=math.sqrt(own.effect * variance),
        df=own.df if own.clusters > 1 else 0.0,
        below=widening(crowding(sizes) / own.count, PRUDENCE_AGAINST_DROP),
        above=widening(crowding(sizes) / own.count, PRUDENCE_FOR_DROP),
    )


def widening(share: float, prudence: float) -> float:
    """Return the factor on one side of the interval of a difference; ``share`` is that of an average cluster.

    A drop that sits in a few clusters is often missed together with the variance that it would bring. The factor is
    what it takes to move the mean towards the limit of a claim as ``prudence`` more average clusters at that limit
    would: 1 + prudence * share, and not above 1 + MOST_WIDENING.
    """
    return 1 + min(MOST_WIDENING, prudence * share)


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


def _groups(
    values: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[Mapping[Hashable, int], Mapping[Hashable, float]]:
    sizes: dict[Hashable, int] = {}
    sums: dict[Hashable, float] = {}
    for value, name in zip(values, clusters, strict=True):
        sizes[name] = sizes.get(name, 0) + 1
        sums[name] = sums.get(name, 0.0) + value
    return sizes, sums
