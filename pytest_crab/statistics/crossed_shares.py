"""Shares of reviewer, agent, instance and repeat in verdicts where every agent acts on every reviewer's reviews.

The variance components of a crossed design by mean squares, as generalizability theory has them (Cronbach et al. 1972;
Brennan 2001, section 3.4), with the reviewers, agents and instances taken as drawn from many like them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_crab.statistics.repeats import flips


class CrossedCell(NamedTuple):
    """The known runs of one reviewer with one agent on one oracle."""

    #: How many of the runs caught.
    caught: int
    runs: int

    @property
    def value(self) -> float:
        """The mean over its runs."""
        return self.caught / self.runs


#: Where a cell lies: reviewer, agent, oracle.
Place = tuple[Any, Any, Any]

_FACETS = ("reviewer", "agent", "instance")


def crossed_shares(cells: Mapping[Place, CrossedCell]) -> dict[str, float]:
    """Return the share of each source in the variance of a single verdict; empty where all verdicts are the same.

    ``cells`` holds every combination of its reviewers, agents and oracles, each with a run at least, and two agents or
    more. ``reviewer``, ``agent`` and ``instance`` are what each has in common over all the others; ``combination`` is
    what a reviewer with an agent, or either with an instance, has beyond that. ``repeat`` is what differs between runs
    of one cell; where no cell has two runs it is part of ``combination or repeat``. With one reviewer there is no share
    of a reviewer. An estimate below 0 is luck and taken as 0. Raises ValueError for cells that are missing.
    """
    levels = [list(dict.fromkeys(place[at] for place in cells)) for at in range(len(_FACETS))]
    if math.prod(map(len, levels)) != len(cells):
        raise ValueError("every reviewer should have every agent on every oracle")
    crossed = [at for at, names in enumerate(levels) if len(names) > 1]
    squares = _mean_squares({place: cell.value for place, cell in cells.items()}, levels, crossed)
    noise = _noise(cells.values())
    sources = {_FACETS[at]: max(0.0, _component([at], squares, levels, crossed)) for at in crossed}
    groups = [group for size in range(2, len(crossed) + 1) for group in itertools.combinations(crossed, size)]
    rest = math.fsum(max(0.0, _component(group, squares, levels, crossed)) for group in groups)
    if noise is None:
        sources["combination or repeat"] = rest
    else:
        runs = math.fsum(1 / cell.runs for cell in cells.values()) / len(cells)
        sources |= {"combination": max(0.0, rest - noise * runs), "repeat": noise}
    whole = math.fsum(sources.values())
    return {name: part / whole for name, part in sources.items()} if whole > 1e-12 else {}


def _noise(cells: Iterable[CrossedCell]) -> float | None:
    """Return the variance between runs of one cell, half the chance that two differ; None: no cell has two."""
    found = [own for own in itertools.starmap(flips, cells) if own is not None]
    return math.fsum(found) / len(found) / 2 if found else None


def _mean_squares(
    values: Mapping[Place, float], levels: Sequence[Sequence[Hashable]], crossed: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """Return the mean square of every group of facets: its effect's sum of squares over its degrees of freedom."""
    means: dict[tuple[int, ...], dict[tuple[Hashable, ...], float]] = {}
    squares = {}
    for size in range(len(crossed) + 1):
        for group in itertools.combinations(crossed, size):
            sums: dict[tuple[Hashable, ...], float] = {}
            for place, value in values.items():
                at = tuple(place[facet] for facet in group)
                sums[at] = sums.get(at, 0.0) + value
            count = len(values) // len(sums)
            means[group] = {at: total / count for at, total in sums.items()}
            if group:
                freedom = math.prod(len(levels[facet]) - 1 for facet in group)
                squares[group] = count * math.fsum(_effect(at, group, means) ** 2 for at in sums) / freedom
    return squares


def _effect(
    at: tuple[Hashable, ...],
    group: tuple[int, ...],
    means: Mapping[tuple[int, ...], Mapping[tuple[Hashable, ...], float]],
) -> float:
    """Return what a group of facets adds at one place to all its parts: means with signs that alternate."""
    found = 0.0
    for size in range(len(group) + 1):
        for places in itertools.combinations(range(len(group)), size):
            part, own = tuple(group[one] for one in places), tuple(at[one] for one in places)
            found += (-1) ** (len(group) - size) * means[part][own]
    return found


def _component(
    group: Sequence[int],
    squares: Mapping[tuple[int, ...], float],
    levels: Sequence[Sequence[Hashable]],
    crossed: Sequence[int],
) -> float:
    """Return the variance component of a group: mean squares of all that hold it, with signs that alternate."""
    others = [facet for facet in crossed if facet not in group]
    total = math.fsum(
        (-1) ** size * squares[tuple(sorted((*group, *more)))]
        for size in range(len(others) + 1)
        for more in itertools.combinations(others, size)
    )
    return total / math.prod(len(levels[facet]) for facet in others)
