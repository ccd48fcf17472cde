"""The power of a comparison against a drop, the smallest drop that it shows, and the oracles that it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import LEVEL, crowding, degrees_of_freedom
from pytest_crab.statistics.distributions import normal_cdf, t_quantile

#: With fewer clusters the exact test shows nothing at 95%, however much is lost.
LEAST_CLUSTERS = 6

#: The chance of showing a drop that is there, at which it counts as one that a run can see.
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A comparison to be made."""

    #: The oracles of each cluster.
    sizes: Sequence[int]
    #: The share of known pairs whose verdicts differ though nothing changed (with repeats the mean square of the
    #: difference of their means); a drop comes on top of it.
    noise: float
    #: The baseline's.
    rate: float = 0.3
    #: The share of oracles without a verdict in the new run.
    unknown: float = 0.0
    #: The share of oracles without a verdict in the baseline.
    unknown_before: float = 0.0
    #: How alike the baseline's verdicts within a cluster are, below 0 where they are evener than chance: what is caught
    #: together is lost together.
    correlation: float = 0.0
    #: That of the interval.
    level: float = LEVEL
    #: The word for one cluster.
    by: str = "pull request"


def power(design: Design, drop: float) -> float:
    """Return the chance that the exact test shows this drop; see also power_simulation."""
    return _power(design, drop, sum(design.sizes)) if len(design.sizes) >= LEAST_CLUSTERS else 0.0


def chance_to_pass(design: Design, margin: float, shift: float = 0.0) -> float:
    """Return the chance that the interval lies above ``-margin`` where the true rate rose by ``shift``."""
    df = degrees_of_freedom(design.sizes)
    return _chance_to_pass(design, margin, sum(design.sizes), df, shift) if df else 0.0


def oracles_needed(design: Design, drop: float) -> int | None:
    """Return how many oracles, in clusters like these, would show this drop; None: no number below a million would."""
    return _fewest(design, lambda count, _: _power(design, drop, count) >= POWER)


def smallest_margin(design: Design) -> float | None:
    """Return the smallest margin that is met where no verdict differs or is unknown; None with one cluster or none."""
    df = degrees_of_freedom(design.sizes)
    return min(1.0, _half_width(design, sum(design.sizes), df)) if df else None


def oracles_to_pass(design: Design, margin: float, chance: float = POWER, shift: float = 0.0) -> int | None:
    """Return how many oracles, in clusters like these, an unchanged reviewer needs to pass; None: over a million.

    ``shift`` is the rise of its true rate, where it did change.
    """
    return _fewest(design, lambda count, df: _chance_to_pass(design, margin, count, df, shift) >= chance)


def clusters_needed(design: Design, oracles: int) -> int:
    """Return how many clusters like these hold so many oracles; see oracles_needed and oracles_to_pass."""
    return math.ceil(oracles * len(design.sizes) / sum(design.sizes))


def _fewest(design: Design, enough: Callable[[int, float], bool]) -> int | None:
    """Return the least number of oracles that is enough, the number of clusters growing with that of oracles."""
    if len(design.sizes) < 2:
        return None
    each = (degrees_of_freedom(design.sizes) + 1) / sum(design.sizes)
    low, high = math.ceil(LEAST_CLUSTERS / each) - 1, 1_000_000
    if low >= high or not enough(high, each * high - 1):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, each * middle - 1) else (middle, high)
    return high


def _power(design: Design, drop: float, count: int) -> float:
    """Return the chance that the exact test shows this drop, by the normal distribution."""
    hope = design.unknown * (1 - design.unknown_before) * (1 - design.rate)
    hope += design.unknown_before * (1 - design.unknown) * max(0.0, design.rate - drop)
    hope += design.unknown * design.unknown_before
    mean = _known_share(design) * drop - hope
    second = _known_share(design) * min(1.0, design.noise + drop) + hope
    between = _known_share(design) ** 2 * _between(design, drop)
    crowd = crowding(design.sizes) - 1
    true = (max(1e-12, second - mean**2) + crowd * between) / count
    swapped = (second + crowd * (between + mean**2)) / count  # what swapping the runs would give
    critical = t_quantile((1 + design.level) / 2, math.inf)
    between_steps = 1 / count  # an exact test has steps
    return normal_cdf((mean - between_steps - critical * math.sqrt(swapped)) / math.sqrt(true))


def _chance_to_pass(design: Design, margin: float, count: int, df: float, shift: float) -> float:
    """Return the chance that the interval lies above ``-margin`` where the true rate rose by ``shift``."""
    doubt = design.unknown * (1 - design.unknown_before) * design.rate
    doubt += design.unknown_before * (1 - design.unknown) * (1 - design.rate)
    doubt += design.unknown * design.unknown_before
    if shift <= 0 and _half_width(design, count, df) > margin:
        return 0.0
    if not doubt and not design.noise and not shift:
        return 1.0
    mean = _known_share(design) * shift - doubt
    second = _known_share(design) * min(1.0, design.noise + abs(shift)) + doubt
    own = max(1e-12, second - mean**2)
    between = _known_share(design) ** 2 * _between(design, max(0.0, -shift))
    true = (own + (crowding(design.sizes) - 1) * between) / count
    seen = (own + (_seen_crowd(design) - 1) * between) / count
    critical = t_quantile((1 + design.level) / 2, max(1.0, df))
    spread = true + seen * critical**2 / (2 * max(1.0, df))
    return normal_cdf((mean + margin - critical * math.sqrt(max(seen, 1e-12))) / math.sqrt(max(spread, 1e-12)))


def _known_share(design: Design) -> float:
    return (1 - design.unknown) * (1 - design.unknown_before)


def _half_width(design: Design, count: int, df: float) -> float:
    """Return how far below 0 the interval of differences that are all 0 reaches; see clusters.difference_estimate."""
    return t_quantile((1 + design.level) / 2, max(1.0, df)) * math.sqrt(2) / count


def _seen_crowd(design: Design) -> float:
    """Return clusters.crowding as CR2 sees it on average: large clusters pull the mean along, so it sees less."""
    count = sum(design.sizes)
    squares = sum(size * size for size in design.sizes) / count**2
    parts = ((size / count, size * size / count) for size in design.sizes)
    return sum(own * ((1 - part) ** 2 + squares - part * part) / (1 - part) for part, own in parts)


def _between(design: Design, drop: float) -> float:
    """The variance of clusters' own true differences, if an oracle's loss or gain depends on its verdict alone."""
    inside = design.rate * (1 - design.rate)
    if inside <= 0:
        return 0.0
    lose, gain = (design.noise / 2 + drop) / design.rate, design.noise / 2 / (1 - design.rate)
    return (min(1.0, lose) + min(1.0, gain)) ** 2 * max(0.0, design.correlation) * inside
