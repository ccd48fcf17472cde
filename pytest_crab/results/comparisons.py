"""Reviewers against the control and against each other: net lift, union, overlap, what adding one is worth."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction

from pytest_crab.results.outcomes import OracleRecord, against_control, oracle_counts
from pytest_crab.statistics import overlap
from pytest_crab.statistics.comparison import Comparison, Key, Measured, compare
from pytest_crab.statistics.paired import holm, kappa

#: An oracle counts as caught by a reviewer if at least this share of its known repeats caught it.
MAJORITY = Fraction(1, 2)

#: Of so many reviewers every choice and every pair is listed; of more only the choices that caught something together,
#: and the pairs of the first reviewer with each other and of neighbours by rate.
LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """The gain of a reviewer over an agent without a review; an empty review takes the control's verdict."""

    control: str
    #: From the control to the reviewer.
    comparison: Comparison
    #: The net caught oracles of one run.
    net: float
    #: The p adjusted for the number of contestants; placebos and first findings are none and keep their own.
    p_holm: float
    #: One run's cost per net caught oracle; None: not known, or nothing was won.
    cost_usd: float | None = None
    #: The same in seconds.
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two reviewers over the oracles that both have."""

    first: str
    second: str
    #: From the first to the second.
    comparison: Comparison
    p_holm: float
    #: The oracles that both catch.
    both: int
    #: Those that the first catches alone.
    only_first: int
    #: Those that the second does: what adding it is worth.
    only_second: int
    kappa: float | None = None
    #: The cost of one run of the first; None: not wholly known.
    cost_of_first: float | None = None
    #: The same of the second.
    cost_of_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """The number of oracles that all of these reviewers caught and no other did."""

    reviewers: tuple[str, ...]
    oracles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """All contestants that are not shown the answer."""

    reviewers: tuple[str, ...] = ()
    #: The oracles whose verdict is known of each.
    oracles: int = 0
    #: Those that any catches.
    union: int = 0
    #: Those that one alone catches.
    unique: Mapping[str, int] = field(default_factory=dict)
    #: Every choice of reviewers, of at most LISTED; of more those that occur.
    overlaps: tuple[Overlap, ...] = ()
    #: Likewise; of more those of the first and of neighbours by rate. ``p_holm`` is adjusted for those listed.
    pairs: tuple[Pair, ...] = ()
    #: The word for one of ``oracles``.
    counted: str = "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One reviewer as an input of comparisons."""

    name: str
    oracles: Sequence[OracleRecord]
    #: The cost of one run of all instances.
    cost_usd: float | None
    #: The seconds of one run of all instances.
    seconds: float | None
    variant: str | None = None
    counted: str = "oracle"


def lifts(contestants: Sequence[Entrant], control: Entrant) -> dict[str, Lift]:
    """The net lift of each contestant over the control, by name."""
    before = {oracle.key: oracle for oracle in control.oracles}
    base = oracle_counts(control.oracles)
    found = {}
    for one in contestants:
        comparison = compare(base, against_control(one.oracles, before))
        net = (comparison.difference or 0.0) * comparison.known
        won = net > 1e-9
        found[one.name] = Lift(
            control=control.name,
            comparison=comparison,
            net=net,
            p_holm=1.0,
            cost_usd=one.cost_usd / net if won and one.cost_usd is not None else None,
            seconds=one.seconds / net if won and one.seconds is not None else None,
        )
    alone = {name: lift.comparison.p_clusters for name, lift in found.items()}
    adjusted = {**alone, **holm({one.name: alone[one.name] for one in contestants if one.variant is None})}
    return {name: dataclasses.replace(lift, p_holm=adjusted[name]) for name, lift in found.items()}


def together(contestants: Sequence[Entrant], *, all_pairs: bool = False) -> Together:
    """Compare contestants over the oracles that are known of all: union, overlaps, and pairs (Together)."""
    if len(contestants) < 2:
        return Together(reviewers=tuple(one.name for one in contestants))
    values = {one.name: {oracle.key: oracle.value() for oracle in one.oracles} for one in contestants}
    caught = {
        name: {key for key, value in own.items() if value is not None and value >= MAJORITY}
        for name, own in values.items()
    }
    first, *rest = values.values()
    keys = [key for key in first if all(own.get(key) is not None for own in (first, *rest))]
    known = {one.name: oracle_counts(one.oracles) for one in contestants}
    every = len(contestants) <= LISTED
    chosen = itertools.combinations(contestants, 2) if every or all_pairs else _some_pairs(contestants, values)
    pairs = [_pair(one, other, values, caught, known) for one, other in chosen]
    adjusted = holm({f"{at}": pair.comparison.p_clusters for at, pair in enumerate(pairs)})
    shared = {name: own.intersection(keys) for name, own in caught.items()}
    return Together(
        reviewers=tuple(values),
        oracles=len(keys),
        union=len(frozenset().union(*shared.values())),
        unique=overlap.unique(shared),
        overlaps=tuple(
            Overlap(reviewers=who, oracles=count) for who, count in overlap.overlaps(keys, shared, every=every).items()
        ),
        pairs=tuple(dataclasses.replace(pair, p_holm=adjusted[f"{at}"]) for at, pair in enumerate(pairs)),
        counted=contestants[0].counted,
    )


def _some_pairs(
    contestants: Sequence[Entrant], values: Mapping[str, Mapping[Key, Fraction | None]]
) -> list[tuple[Entrant, Entrant]]:
    """Return the first contestant with each other, then each of the others with the next lower by rate."""
    first, *others = contestants
    known = {name: [value for value in own.values() if value is not None] for name, own in values.items()}
    rates = {name: sum(own) / len(own) if own else Fraction(0) for name, own in known.items()}
    ranked = sorted(others, key=lambda one: -rates[one.name])
    return [*((first, other) for other in others), *itertools.pairwise(ranked)]


def _pair(
    one: Entrant,
    other: Entrant,
    values: Mapping[str, Mapping[Key, Fraction | None]],
    caught: Mapping[str, AbstractSet[Key]],
    known: Mapping[str, Mapping[Key, Measured]],
) -> Pair:
    first, second = values[one.name], values[other.name]
    keys = [key for key in first if first[key] is not None and second.get(key) is not None]
    mine, theirs = caught[one.name] & set(keys), caught[other.name] & set(keys)
    return Pair(
        first=one.name,
        second=other.name,
        comparison=compare(known[one.name], known[other.name]),
        p_holm=1.0,
        both=len(mine & theirs),
        only_first=len(mine - theirs),
        only_second=len(theirs - mine),
        kappa=kappa([key in mine for key in keys], [key in theirs for key in keys]),
        cost_of_first=one.cost_usd,
        cost_of_second=other.cost_usd,
    )
