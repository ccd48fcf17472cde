"""What a comparison can see: its power against a drop, and the smallest drop that it shows most of the time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import LEVEL
from pytest_crab.statistics.clusters import degrees_of_freedom
from pytest_crab.statistics.distributions import normal_cdf
from pytest_crab.statistics.distributions import t_quantile

#: The chance of showing a drop that is there, at which it counts as one that a run can see.
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A comparison to be made.

    ``sizes`` are the oracles of each cluster. ``discordance`` is the share of known pairs whose verdicts differ, for
    whatever reason. ``rate`` is the baseline's; ``unknown`` and ``unknown_before`` are the shares of oracles without a
    verdict in the new run and the baseline. ``correlation`` is how alike the baseline's verdicts
    within a cluster are: what is caught together is lost together.
    """

    sizes: Sequence[int]
    discordance: float
    rate: float = 0.3
    unknown: float = 0.0
    unknown_before: float = 0.0
    correlation: float = 0.0


def power(design: Design, drop: float) -> float:
    """The chance that the interval of the difference lies below 0 when the true rate fell by ``drop``.

    A pair with an unknown enters the upper bound as what would be best for the new run, as the gate takes it.
    """
    count = sum(design.sizes)
    return _power(design, drop, count, degrees_of_freedom(design.sizes)) if count else 0.0


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
    """How many oracles, in clusters like these, would show this drop; None: no number below a million would."""
    now = sum(design.sizes)
    if not now:
        return None
    each = degrees_of_freedom(design.sizes) / now
    low, high = 0, 1_000_000
    if _power(design, drop, high, each * high) < chance:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _power(design, drop, middle, each * middle) < chance else (low, middle)
    return high


def _power(design: Design, drop: float, count: int, df: float) -> float:
    known = (1 - design.unknown) * (1 - design.unknown_before)
    hope = design.unknown * (1 - design.unknown_before) * (1 - design.rate)
    hope += design.unknown_before * (1 - design.unknown) * max(0.0, design.rate - drop)
    share = 1 / (1 - design.unknown * design.unknown_before)
    counted = count / share
    mean = (hope - known * drop) * share
    second = (known * max(design.discordance, drop) + hope) * share
    own = max(1e-12, second + 2 / counted - mean**2)
    between = (known * share) ** 2 * _between(design, drop)
    true = (own + (_crowd(design) - 1) * between) / counted
    seen = (own + (_seen_crowd(design) - 1) * between) / counted
    critical = t_quantile((1 + LEVEL) / 2, max(1.0, df))
    spread = true + seen * critical**2 / (2 * max(1.0, df))
    return normal_cdf((-mean - critical * math.sqrt(max(seen, 1e-12))) / math.sqrt(max(spread, 1e-12)))


def _crowd(design: Design) -> float:
    """How many oracles, itself included, share an oracle's cluster on average."""
    return sum(size * size for size in design.sizes) / sum(design.sizes)


def _seen_crowd(design: Design) -> float:
    """The same as CR2 sees it on average: large clusters pull the mean along, so it sees a little less."""
    count = sum(design.sizes)
    squares = sum(size * size for size in design.sizes) / count**2
    if len(design.sizes) < 2:
        return _crowd(design)
    parts = ((size / count, size * size / count) for size in design.sizes)
    return sum(own * ((1 - part) ** 2 + squares - part * part) / (1 - part) for part, own in parts)


def _between(design: Design, drop: float) -> float:
    """The variance of clusters' own true differences, if an oracle's loss or gain depends on its verdict alone."""
    inside = design.rate * (1 - design.rate)
    if inside <= 0:
        return 0.0
    flips = max(design.discordance, drop)
    lose, gain = (flips + drop) / 2 / design.rate, (flips - drop) / 2 / (1 - design.rate)
    return (min(1.0, lose) + min(1.0, gain)) ** 2 * max(0.0, design.correlation) * inside
