"""Power by simulation: the gate's own rule on drawn verdicts, many times over."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import degrees_of_freedom
from pytest_crab.statistics.distributions import t_quantile
from pytest_crab.statistics.paired import swap_chances
from pytest_crab.statistics.power import POWER, Design

#: The seed of every draw, so that the same records give the same numbers.
SEED = 20_260_323

#: How many oracles are drawn in all, and how many comparisons at least and at most: a fraction of a second.
_ORACLES, _LEAST, _MOST = 100_000, 200, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSimulation:
    """Comparisons that were drawn, sorted."""

    #: The drop of the true rate from which on each is failed; infinite where no drop is shown.
    drops: Sequence[float]
    #: The margin from which on each of an unchanged reviewer is passed.
    margins: Sequence[float]

    def power(self, drop: float) -> float:
        """The chance that a drop is shown when the true rate fell by ``drop``."""
        return _share(self.drops, drop)

    def smallest_drop(self) -> float | None:
        """The smallest drop that is shown with the chance POWER; None: not even a fall to nothing."""
        drop = _of_most(self.drops)
        return drop if drop is not None and math.isfinite(drop) else None

    def decided_margin(self) -> float | None:
        """The smallest margin that an unchanged reviewer meets with the chance POWER; None: nothing was drawn."""
        return _of_most(self.margins)

    def chance_unchanged(self, margin: float) -> float:
        """The chance that the interval lies above minus ``margin`` when nothing changed but noise."""
        return _share(self.margins, margin + 1e-9)


def simulate_power(design: Design, *, draws: int | None = None, seed: int = SEED) -> PowerSimulation:
    """Draw the comparison of ``design`` many times, by the same seed always the same.

    Each draw is a baseline and a run against it. Verdicts within a cluster are as alike as the design says (a
    beta-binomial), as many oracles as it says are unknown on either side, and each caught oracle is lost, and each
    missed one gained, with the same chance everywhere; a drop that is larger than what was caught takes what was gained
    too, and a drop to nothing leaves nothing. A pair with an unknown enters as what is worst for what is to be shown,
    as the gate takes it. Fewer than two clusters show nothing.
    """
    count = sum(design.sizes)
    if len(design.sizes) < 2:
        return PowerSimulation(drops=(), margins=())
    source = random.Random(seed)  # noqa: S311 - statistics, no secret
    shape = _Shape.of(design.sizes)
    often = draws or max(_LEAST, min(_MOST, _ORACLES // count))
    labels = [label for label, size in enumerate(shape.sizes) for _ in range(size)]
    critical = t_quantile((1 + design.level) / 2, degrees_of_freedom(shape.sizes))
    drops, margins = [], []
    for _ in range(often):
        pairs = _Pairs(design, shape, labels, source)
        margins.append(pairs.margin(critical))
        drops.append(pairs.drop((1 - design.level) / 2))
    return PowerSimulation(drops=sorted(drops), margins=sorted(margins))


@dataclass(frozen=True, slots=True)
class _Shape:
    """Clusters of these sizes with CR2's weights; see clusters.clustered_mean."""

    sizes: Sequence[int]
    count: int
    weights: Sequence[float]
    level: float

    @classmethod
    def of(cls, sizes: Sequence[int]) -> _Shape:
        count = sum(sizes)
        weights = [count / (count - size) for size in sizes]
        level = sum(weight * size * size for weight, size in zip(weights, sizes, strict=True))
        return cls(sizes, count, weights, level)


class _Pairs:
    """One draw: the baseline's verdicts, which verdicts are unknown, and in which order oracles are lost.

    An oracle is lost once the drop reaches its luck, which is spread evenly; what was gained is lost after what was
    caught.
    """

    def __init__(self, design: Design, shape: _Shape, labels: Sequence[int], source: random.Random) -> None:
        draw, rate, every = source.random, design.rate, range(len(labels))
        self.labels, self.rate, self.noise = labels, rate, design.noise
        self.caught = caught = _verdicts(shape.sizes, rate, design.correlation, draw)
        gain = design.noise / 2 / (1 - rate) if rate < 1 else 0.0
        luck = {at: draw() for at in every if not caught[at]}
        gained = {at: own / gain for at, own in luck.items() if own < gain}
        self.losing = sorted([(draw(), at) for at in every if caught[at]])
        before = set(source.sample(every, round(design.unknown_before * len(labels))))
        after = set(source.sample(every, round(design.unknown * len(labels))))
        self.shape, self.gained, self.after = shape, gained, after
        self.new, self.gone, self.both, self.doubtful = before - after, after - before, before & after, before | after

    def margin(self, critical: float) -> float:
        """The smallest margin that is met if nothing changed: with every unknown taken as the worst."""
        lose = self.noise / 2 / self.rate if self.rate else 0.0
        sums = self._gains()
        lost = {at for _, at in itertools.takewhile(lambda one: one[0] < lose, self.losing)}
        for at in lost - self.doubtful:
            sums.move(self.labels[at], 0, -1)
        for at in self.new:
            sums.move(self.labels[at], 0, (at in self.gained or (self.caught[at] and at not in lost)) - 1)
        for at in self.gone:
            sums.move(self.labels[at], 0, -self.caught[at])
        for at in self.both:
            sums.move(self.labels[at], 0, -1)
        middle, half = sums.interval(critical)
        return half - middle

    def drop(self, chance: float) -> float:
        """The smallest true drop that the test shows, with every unknown taken as the best; infinite: none is."""
        sums = self._gains()
        for at in self.new:
            sums.move(self.labels[at], 0, self.caught[at] or at in self.gained)
        for at in self.gone:
            sums.move(self.labels[at], 0, 1 - self.caught[at])
        for at in self.both:
            sums.move(self.labels[at], 0, 1)
        half = min(self.noise / 2, self.rate)
        rest = sorted((luck, at) for at, luck in self.gained.items())
        falls = itertools.chain(
            ((luck * self.rate - half, at, int(at in self.new)) for luck, at in self.losing),
            ((self.rate - half + luck * half, at, 1) for luck, at in rest),
        )
        for drop, at, value in falls:
            if at in self.after:
                continue
            sums.move(self.labels[at], value, value - 1)
            if sums.is_far() and swap_chances(sums.own)[0] < chance:
                return drop
        return math.inf

    def _gains(self) -> _Sums:
        sums = _Sums(self.shape)
        for at in self.gained.keys() - self.doubtful:
            sums.move(self.labels[at], 0, 1)
        return sums


class _Sums:
    """The sums behind the interval of a mean of differences, updated as differences change."""

    def __init__(self, shape: _Shape) -> None:
        self.shape = shape
        self.own = [0] * len(shape.sizes)
        self.total = self.squares = 0
        self.between = self.along = 0.0

    def move(self, label: int, old: int, new: int) -> None:
        """Let a difference of a cluster be ``new`` in place of ``old``."""
        by = new - old
        weight, own = self.shape.weights[label], self.own[label]
        self.own[label] = own + by
        self.total += by
        self.squares += new * new - old * old
        self.between += weight * by * (2 * own + by)
        self.along += weight * self.shape.sizes[label] * by

    def is_far(self) -> bool:
        """Return True if the sum lies so far below 0 that the test may show it: 1.6 of its standard errors."""
        return self.total < 0 and self.total * self.total > 2.5 * sum(own * own for own in self.own)

    def interval(self, critical: float) -> tuple[float, float]:
        """The mean and half the width of its interval: see clusters.difference_estimate."""
        count, mean = self.shape.count, self.total / self.shape.count
        variance = (self.between - 2 * mean * self.along + mean * mean * self.shape.level) / count**2
        error = math.sqrt(variance if variance > 1e-14 else 0.0) if self.squares else math.sqrt(2) / count
        return mean, critical * error


def _verdicts(sizes: Sequence[int], rate: float, correlation: float, draw: Callable[[], float]) -> list[bool]:
    """Draw for each oracle if it is caught, cluster by cluster: an urn into which each ball is put back with another.

    With a correlation below 0 balls are not put back; the urn holds enough for the cluster.
    """
    if abs(correlation) < 1e-9:
        return [draw() < rate for size in sizes for _ in range(size)]
    weight, found = (1 - min(1.0, correlation)) / correlation, []
    for size in sizes:
        balls = weight if weight >= 0 else min(weight, -size)
        caught = 0
        for at in range(size):
            own = draw() < ((rate * balls + caught) / (balls + at) if at else rate)
            caught += own
            found.append(own)
    return found


def _of_most(values: Sequence[float]) -> float | None:
    """Return the least of sorted values that POWER of them do not exceed; None of none."""
    return values[max(0, math.ceil(POWER * len(values) - 1e-9) - 1)] if values else None


def _share(values: Sequence[float], limit: float) -> float:
    return bisect.bisect_right(values, limit) / len(values) if values else 0.0
