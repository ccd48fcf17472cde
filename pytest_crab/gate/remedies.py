"""Ways to settle a comparison that cannot tell: repeats or pull requests, and the margin that the set decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pytest_crab.formats import format_count
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.planning import in_halves
from pytest_crab.statistics.comparison import Comparison
from pytest_crab.statistics.power import (
    LEAST_CLUSTERS,
    POWER,
    Design,
    chance_to_pass,
    clusters_needed,
    oracles_needed,
    oracles_to_pass,
    power,
)
from pytest_crab.statistics.power_simulation import simulate_power

#: The most repeats that are advised.
_MOST = 10


def remedies(one: BaselineComparison, comparison: Comparison) -> Iterator[str]:
    """Yield the sentences on what would settle this comparison, if its results stay like these."""
    interval = comparison.interval
    assert interval is not None
    if 100 * interval.low >= -one.margin or (interval.high < 0 and comparison.doubtful):
        if one.whole and comparison.only_before:
            yield "The missing ones would settle it: run them too, or say --part if they were left out on purpose."
            return
        doubtful = format_count(comparison.doubtful, one.counted)
        yield f"Verdicts for {doubtful} with unknown repeats would settle it: run again, finished steps are kept."
        return
    ways: list[tuple[float, str]] = []
    if one.design is not None:
        design, now = _alike(one.design, comparison), len(one.design.sizes)
        repeats, clusters = _repeats(design, one.margin, comparison), _clusters(design, one.margin, comparison)
        if repeats is not None:
            ways.append(((repeats - 1.0) * now, f"{repeats} times the repeats in both runs (--crab-repeat)"))
        if clusters is not None:
            number = max(clusters, now + 1)
            ways.append((float(number - now), f"about {format_count(number, design.by)} like these {now}"))
    if ways:
        yield f"To settle it, the cheapest first: {'; '.join(way for _, way in sorted(ways))}."
    planned = None if one.design is None else in_halves(simulate_power(one.design).decided_margin())
    if planned is not None and planned > one.margin:
        yield (
            f"For later runs: this set is planned to decide a margin of {planned:g} points for an unchanged reviewer; "
            "one that is chosen by this run's result proves nothing."
        )
    if interval.clusters < LEAST_CLUSTERS:
        few = format_count(interval.clusters, interval.by)
        yield f"{few} show no change, however large it is: that takes {LEAST_CLUSTERS}."


def _alike(design: Design, comparison: Comparison) -> Design:
    """Return the design with the noise and the unknown verdicts that were seen."""
    return dataclasses.replace(
        design,
        noise=max(0.0, (comparison.discordance or 0.0) - abs(comparison.difference or 0.0)),
        unknown=max(0.0, comparison.doubtful / comparison.pairs - design.unknown_before),
    )


def _clusters(design: Design, margin: float, comparison: Comparison) -> int | None:
    """Return how many clusters would rule a drop out as often as not, or show one that is larger than the margin."""
    change = comparison.difference or 0.0
    if 100 * change > -margin:
        oracles = oracles_to_pass(design, margin / 100, chance=0.5, shift=change)
    else:
        oracles = oracles_needed(design, -change)
    return None if oracles is None else clusters_needed(design, oracles)


def _repeats(design: Design, margin: float, comparison: Comparison) -> int | None:
    """Return the least multiple of the repeats that would do the same; None: noise is not what stands in the way."""
    change = comparison.difference or 0.0
    for repeats in range(2, _MOST + 1):
        steadier = dataclasses.replace(design, noise=design.noise / repeats)
        if 100 * change > -margin:
            enough = chance_to_pass(steadier, margin / 100, change) >= 0.5
        else:
            enough = power(steadier, -change) >= POWER
        if enough:
            return repeats
    return None
