"""Agreement of rankings: Kendall's tau-b with a bootstrap interval over clusters."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: How many samples of clusters an interval is drawn from, and what they start from, so that it is always the same.
SAMPLES, SEED = 1000, 20260101

#: The fewest things whose ranks are worth comparing: two are ranked alike or not, and tau is 1 or -1.
FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAgreement:
    """The agreement of two rankings; None where a ranking is all ties."""

    #: Kendall's tau-b.
    tau: float | None = None
    #: The lower end of its bootstrap's 95% interval.
    low: float | None = None
    #: The upper end of this interval.
    high: float | None = None


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return tau-b (Kendall 1945) of two scores of the same things; None where one of them is all ties."""
    pairs = list(itertools.combinations(zip(one, other, strict=True), 2))
    signs = [(_sign(b[0] - a[0]), _sign(b[1] - a[1])) for a, b in pairs]
    first, second = sum(sign != 0 for sign, _ in signs), sum(sign != 0 for _, sign in signs)
    return sum(a * b for a, b in signs) / math.sqrt(first * second) if first and second else None


def rank_agreement(
    clusters: Iterable[Sequence[tuple[int, float, float]]], things: int, *, samples: int = SAMPLES
) -> RankAgreement:
    """Return how far two measures rank ``things`` alike.

    A cluster is triples of a thing (from 0) and its value by either measure; a thing's score is the mean of its values.
    The interval resamples clusters; it is None where fewer than half of the samples have a tau.
    """
    both = [
        (_sums([(thing, one) for thing, one, _ in own], things), _sums([(thing, two) for thing, _, two in own], things))
        for own in clusters
    ]
    return _agreement([both], samples)


def agreement_apart(
    first: Iterable[Sequence[tuple[int, float]]],
    second: Iterable[Sequence[tuple[int, float]]],
    things: int,
    *,
    samples: int = SAMPLES,
) -> RankAgreement:
    """Return the same of two measures whose values are of different subjects.

    A cluster of either is pairs of a thing and its value; the interval resamples the clusters of both, each by itself.
    """
    nothing = _sums((), things)
    ones = [(_sums(own, things), nothing) for own in first]
    others = [(nothing, _sums(own, things)) for own in second]
    return _agreement([ones, others], samples)


#: Of each thing how many values there are, and their sum.
_Sums = list[tuple[int, float]]
#: A cluster by either measure.
_Both = tuple[_Sums, _Sums]


def _sums(cluster: Iterable[tuple[int, float]], things: int) -> _Sums:
    """Return count and sum of the values of each thing."""
    totals = [(0, 0.0)] * things
    for thing, value in cluster:
        count, total = totals[thing]
        totals[thing] = (count + 1, total + value)
    return totals


def _agreement(strata: Sequence[Sequence[_Both]], samples: int) -> RankAgreement:
    """Return the agreement over all clusters, with an interval that resamples each stratum by itself."""
    tau = _tau([cluster for stratum in strata for cluster in stratum])
    drawn = random.Random(SEED)  # noqa: S311 - a simulation
    several = tau is not None and all(len(stratum) > 1 for stratum in strata)
    taus = [
        _tau([cluster for stratum in strata for cluster in drawn.choices(stratum, k=len(stratum))])
        for _ in range(samples if several else 0)
    ]
    found = sorted(each for each in taus if each is not None)
    if len(found) < max(1, samples // 2):
        return RankAgreement(tau=tau)
    edge = len(found) * 25 // 1000
    assert tau is not None
    # Samples have other ties, so that the middle 95% of their taus may lie beside the tau of all.
    return RankAgreement(tau=tau, low=min(found[edge], tau), high=max(found[-1 - edge], tau))


def _tau(clusters: Sequence[_Both]) -> float | None:
    means = [_means([cluster[at] for cluster in clusters]) for at in (0, 1)]
    one, other = means
    return None if one is None or other is None else kendall_tau(one, other)


def _means(clusters: Sequence[_Sums]) -> list[float] | None:
    """Return the mean of each thing; None where one has no value."""
    totals = [tuple(map(sum, zip(*of_thing, strict=True))) for of_thing in zip(*clusters, strict=True)]
    if not totals or any(not count for count, _ in totals):
        return None
    return [round(total / count, 12) for count, total in totals]  # means that differ by rounding alone are ties


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
