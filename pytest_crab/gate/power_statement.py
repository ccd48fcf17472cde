"""The sentence before a run on the drop that its gate can show."""

from __future__ import annotations

from pytest_crab.formats import format_count
from pytest_crab.formats import format_percent
from pytest_crab.formats import format_whole_percent
from pytest_crab.statistics.power import POWER
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power import clusters_needed
from pytest_crab.statistics.power import oracles_needed
from pytest_crab.statistics.power import oracles_to_pass
from pytest_crab.statistics.power import smallest_margin
from pytest_crab.statistics.power_simulation import PowerSimulation
from pytest_crab.statistics.power_simulation import simulate_power


def power_statement(design: Design, *, margin: float, assumed: bool, flips: float | None = None) -> str:
    """Return what a gate will be able to see, in one sentence.

    ``flips`` is the share of verdicts that change between single runs; None: the design's noise is of single runs.
    """
    count, ahead = sum(design.sizes), simulate_power(design)
    if len(design.sizes) < 2:
        oracles = format_count(count, "oracle")
        return f"{oracles} of one pull request cannot show anything of others, so this gate cannot pass"
    smallest = ahead.smallest_drop()
    how = "assuming that" if assumed else "since in the baseline's own repeats"
    noise = f"{how} {format_percent(design.noise if flips is None else flips)}% of verdicts change from run to run"
    if smallest is None:
        seen = f"{format_count(count, 'oracle')} cannot show even a fall to nothing, {noise}"
    else:
        drop = f"a drop of {format_percent(smallest)} points"
        seen = f"{format_count(count, 'oracle')} show {drop} in four of five runs, {noise}"
    if smallest is not None and 100 * smallest > margin > 0:
        needed = oracles_needed(design, margin / 100)
        chance = ahead.power(margin / 100)
        more = "" if needed is None else _more(design, needed)
        lack = f", and {more} would show it in four of five" if more else ""
        runs = f"{format_whole_percent(chance)} of runs{lack}"
        seen += f"; a drop as small as the margin of {margin:g} points is seen in {runs}"
    return f"{seen}; {_chance_to_pass(design, ahead, margin)}"


def spread(design: Design, oracles: int) -> str:
    """Return in how many repositories or pull requests so many oracles are, if they come as the design's do."""
    return f"in about {format_count(clusters_needed(design, oracles), design.by)} like these"


def _more(design: Design, needed: int) -> str:
    oracles = max(needed, sum(design.sizes) + 1)
    return f"about {oracles} oracles {spread(design, oracles)}"


def _chance_to_pass(design: Design, ahead: PowerSimulation, margin: float) -> str:
    least = smallest_margin(design) or 0.0
    needed = oracles_to_pass(design, margin / 100)
    size = "" if needed is None else _more(design, needed)
    if 100 * least > margin:
        lack = f", or {size} to pass in four of five runs" if size else ""
        return (
            f"even with every verdict unchanged this gate cannot pass at a margin of {margin:g} points: "
            f"it needs at least {format_percent(least)} points{lack}"
        )
    chance = ahead.chance_unchanged(margin / 100)
    lack = f", and in four of five with {size}" if size and chance < POWER else ""
    return f"an unchanged reviewer passes in {format_whole_percent(chance)} of runs{lack}"
