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
    """Kendall's tau-b of two rankings, with the 95% interval of its bootstrap; None where a ranking is all ties."""

    tau: float | None = None
    low: float | None = None
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
    sums = [_sums(cluster, things) for cluster in clusters]
    tau = _tau(sums)
    drawn = random.Random(SEED)  # noqa: S311 - a simulation
    taus = [_tau(drawn.choices(sums, k=len(sums))) for _ in range(samples)] if tau is not None and len(sums) > 1 else []
    found = sorted(each for each in taus if each is not None)
    if len(found) < max(1, samples // 2):
        return RankAgreement(tau=tau)
    edge = len(found) * 25 // 1000
    return RankAgreement(tau=tau, low=found[edge], high=found[-1 - edge])


_Sums = list[tuple[int, float, float]]


def _sums(cluster: Sequence[tuple[int, float, float]], things: int) -> _Sums:
    """Return count and sums of either measure for each thing."""
    totals = [(0, 0.0, 0.0)] * things
    for thing, one, other in cluster:
        count, first, second = totals[thing]
        totals[thing] = (count + 1, first + one, second + other)
    return totals


def _tau(clusters: Sequence[_Sums]) -> float | None:
    totals = [tuple(map(sum, zip(*of_thing, strict=True))) for of_thing in zip(*clusters, strict=True)]
    if not totals or any(not count for count, _, _ in totals):
        return None
    means = [(first / count, second / count) for count, first, second in totals]
    # Means that differ by rounding alone are ties.
    return kendall_tau([round(one, 12) for one, _ in means], [round(other, 12) for _, other in means])


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
