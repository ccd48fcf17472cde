"""The facts that a gate states before a run: its power, and its chance to pass."""

from __future__ import annotations

from pytest_crab.formats import format_count, format_percent, format_whole_percent
from pytest_crab.gate.planning import in_halves
from pytest_crab.statistics.power import (
    POWER,
    Design,
    clusters_needed,
    oracles_needed,
    oracles_to_pass,
    smallest_margin,
)
from pytest_crab.statistics.power_simulation import PowerSimulation, simulate_power

_POWER = f"{POWER:.0%}"


def power_statement(
    design: Design,
    *,
    margin: float,
    grounds: str | None = None,
    flips: float | None = None,
    counted: str = "oracle",
) -> tuple[str, ...]:
    """Return what a gate will be able to see, a line for each fact.

    ``flips`` is the share of verdicts that change between single runs; None: the design's noise is of single runs.
    ``grounds`` says in whose repeats they were seen to change; None: it is assumed. ``counted`` is the word for one of
    what the design counts.
    """
    count, ahead = sum(design.sizes), simulate_power(design)
    items = format_count(count, counted)
    if len(design.sizes) < 2:
        return (f"nothing follows from {items} of one {design.by} for any other, so this gate cannot pass",)
    smallest = ahead.smallest_drop()
    how = "assuming that" if grounds is None else f"since in {grounds}"
    noise = f"{how} {format_percent(design.noise if flips is None else flips)}% of verdicts change from run to run"
    if smallest is None:
        dead = format_whole_percent(ahead.power(design.rate))
        seen = f"{items} are too few: even a drop to 0% is shown in {dead} of runs, {noise}"
    else:
        drop = f"a {format_percent(smallest)}-point drop"
        seen = f"{items} have {_POWER} power to detect {drop}, {noise}"
    facts = [seen]
    if smallest is not None and 100 * smallest > margin > 0:
        needed = oracles_needed(design, margin / 100)
        chance = format_whole_percent(ahead.power(margin / 100))
        lack = "" if needed is None else f"; {_POWER} takes {_more(design, needed, counted)}"
        facts.append(f"the power to detect a drop of the margin, {margin:g} points, is {chance}{lack}")
    return (*facts, _chance_to_pass(design, ahead, margin, counted, noise))


def spread(design: Design, oracles: int) -> str:
    """Return in how many repositories, pull requests or rows so many oracles are, if they come as the design's do."""
    return f"in about {format_count(clusters_needed(design, oracles), design.by)} like these"


def _more(design: Design, needed: int, counted: str) -> str:
    number = max(needed, sum(design.sizes) + 1)
    return f"about {format_count(number, counted)} {spread(design, number)}"


def _chance_to_pass(design: Design, ahead: PowerSimulation, margin: float, counted: str, noise: str) -> str:
    least, decided = smallest_margin(design) or 0.0, in_halves(ahead.decided_margin())
    decides = "" if decided is None else f"; this set decides a margin of {decided:g} points"
    needed = oracles_to_pass(design, margin / 100)
    size = "" if needed is None else _more(design, needed, counted)
    if 100 * least > margin:
        lack = f", or {size} to pass in {_POWER} of runs" if size else ""
        return (
            f"even with every verdict unchanged this gate cannot pass at a margin of {margin:g} points: "
            f"it needs a margin of at least {format_percent(least)} points{lack}{decides}"
        )
    chance = ahead.chance_unchanged(margin / 100)
    lack = f"; {_POWER} takes {size}{decides}" if size and chance < POWER else ""
    return f"an unchanged reviewer passes in {format_whole_percent(chance)} of runs, {noise}{lack}"
