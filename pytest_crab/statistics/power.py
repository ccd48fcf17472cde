"""The power of a comparison against a drop, the smallest drop that it shows, and the oracles that it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import (
    ASSUMED_DIFFERENCE_CORRELATION,
    LEVEL,
    PRUDENCE_AGAINST_DROP,
    PRUDENCE_FOR_DROP,
    crowding,
    degrees_of_freedom,
    widening,
)
from pytest_crab.statistics.distributions import normal_cdf, t_quantile

#: The chance of showing a drop that is there, at which it counts as one that a run can see.
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A comparison to be made.

    ``sizes`` are the oracles of each cluster, ``by`` says what a cluster is. ``noise`` is the share of known pairs
    whose verdicts differ though nothing changed (with repeats the mean square of the difference of their means); a drop
    comes on top of it. ``rate`` is the baseline's; ``unknown`` and ``unknown_before`` are the shares of oracles without
    a verdict in the new run and the baseline. ``correlation`` is how alike the baseline's verdicts within a cluster
    are, below 0 where they are evener than chance: what is caught together is lost together. ``level`` is that of the
    interval.
    """

    sizes: Sequence[int]
    noise: float
    rate: float = 0.3
    unknown: float = 0.0
    unknown_before: float = 0.0
    correlation: float = 0.0
    level: float = LEVEL
    by: str = "repository"


def power(design: Design, drop: float) -> float:
    """The chance that the interval of the difference lies below 0 when the true rate fell by ``drop``.

    A pair with an unknown enters the upper bound as what would be best for the new run, as the gate takes it.
    """
    df = degrees_of_freedom(design.sizes)
    return _power(design, drop, sum(design.sizes), df) if df else 0.0


def smallest_drop(design: Design, chance: float = POWER) -> float | None:
    """The smallest drop, between 0 and the baseline's rate, that is shown with this chance; None: not even that."""
    low, high = 0.0, design.rate
    if power(design, high) < chance:
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if power(design, middle) < chance else (low, middle)
    return high


def oracles_needed(design: Design, drop: float, chance: float = POWER) -> int | None:
    """Return how many oracles, in clusters like these, would show this drop; None: no number below a million would."""
    return _fewest(design, lambda count, df: _power(design, drop, count, df) >= chance)


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
    low, high = math.ceil(2 / each) - 1, 1_000_000  # with fewer than two clusters nothing is enough
    if low >= high or not enough(high, each * high - 1):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, each * middle - 1) else (middle, high)
    return high


def _power(design: Design, drop: float, count: int, df: float) -> float:
    hope = design.unknown * (1 - design.unknown_before) * (1 - design.rate)
    hope += design.unknown_before * (1 - design.unknown) * max(0.0, design.rate - drop)
    hope += design.unknown * design.unknown_before
    mean = hope - _known_share(design) * drop
    second = _known_share(design) * min(1.0, design.noise + drop) + hope
    return _chance(design, -mean, second, drop, count, _critical(design, count, df, PRUDENCE_FOR_DROP), df)


def _chance_to_pass(design: Design, margin: float, count: int, df: float, shift: float) -> float:
    doubt = design.unknown * (1 - design.unknown_before) * design.rate
    doubt += design.unknown_before * (1 - design.unknown) * (1 - design.rate)
    doubt += design.unknown * design.unknown_before
    if shift <= 0 and _half_width(design, count, df) > margin:
        return 0.0
    if not doubt and not design.noise and not shift:
        return 1.0
    mean = _known_share(design) * shift - doubt
    second = _known_share(design) * min(1.0, design.noise + abs(shift)) + doubt
    critical = _critical(design, count, df, PRUDENCE_AGAINST_DROP)
    return _chance(design, mean, second, max(0.0, -shift), count, critical, df, margin)


def _chance(
    design: Design,
    shift: float,
    second: float,
    drop: float,
    count: int,
    critical: float,
    df: float,
    margin: float = 0.0,
) -> float:
    """Return the chance that a mean difference lies farther from ``-margin`` than its interval reaches.

    ``shift`` is the mean, seen in the direction that is to be shown, and ``second`` the mean square, both over all
    pairs; the interval reaches ``critical`` standard errors.
    """
    own = max(1e-12, second + 2 / count - shift**2)
    between = _known_share(design) ** 2 * _between(design, drop)
    true = (own + (crowding(design.sizes) - 1) * between) / count
    seen = (own + (_seen_crowd(design) - 1) * between) / count
    spread = true + seen * critical**2 / (2 * max(1.0, df))
    return normal_cdf((shift + margin - critical * math.sqrt(max(seen, 1e-12))) / math.sqrt(max(spread, 1e-12)))


def _critical(design: Design, count: int, df: float, prudence: float) -> float:
    """Return how many standard errors an interval over so many oracles reaches; see clusters.widening."""
    return t_quantile((1 + design.level) / 2, max(1.0, df)) * widening(crowding(design.sizes) / count, prudence)


def _known_share(design: Design) -> float:
    return (1 - design.unknown) * (1 - design.unknown_before)


def _half_width(design: Design, count: int, df: float) -> float:
    """Return how far below 0 the interval of differences that are all 0 reaches; see clusters.difference_estimate."""
    effect = 1 + ASSUMED_DIFFERENCE_CORRELATION * (crowding(design.sizes) - 1)
    return _critical(design, count, df, PRUDENCE_AGAINST_DROP) * math.sqrt(2 * effect) / (count + 2)


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
