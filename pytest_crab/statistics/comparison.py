"""Two measurements of the same oracles, paired: what was lost and gained, how sure that is, what else could be."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import correlation_of
from pytest_crab.statistics.clusters import difference_interval
from pytest_crab.statistics.clusters import spread
from pytest_crab.statistics.paired import mcnemar
from pytest_crab.statistics.paired import swap_test
from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power import smallest_drop

#: An oracle: its instance and its comment.
Key = tuple[str, str]

#: From how many repositories on these are the clusters; with fewer, pull requests are, and then oracles.
ENOUGH = 6

REPOSITORY, PULL_REQUEST, ORACLE = "repository", "pull request", "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One oracle in one run: how many of its repeats were caught, missed and unknown."""

    repo: str
    caught: int
    missed: int
    unknown: int = 0

    @property
    def value(self) -> float | None:
        """The mean over known repeats; None: nothing is known."""
        known = self.caught + self.missed
        return self.caught / known if known else None

    @property
    def low(self) -> float:
        """The mean, had every unknown repeat been missed."""
        return self.caught / self._runs

    @property
    def high(self) -> float:
        """The mean, had every unknown repeat been caught."""
        return (self.caught + self.unknown) / self._runs

    @property
    def doubt(self) -> float:
        """The share of repeats that is unknown."""
        return self.high - self.low

    @property
    def _runs(self) -> int:
        return max(1, self.caught + self.missed + self.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95% interval that knows about clusters; ``by`` says what they are, ``clusters`` how many."""

    low: float
    high: float
    by: str
    clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second measurement against the first, over the oracles that both had.

    Rates, differences and intervals are shares, not points. ``pairs`` leaves out the ``unmeasured``, of which neither
    run knows anything; ``known`` pairs have a verdict on both sides, and ``before``, ``after``, ``difference`` and
    ``interval`` are over these. ``low`` and ``high`` are the ends of the interval with every unknown taken as the worst
    and as the best for the second measurement. ``lost`` and ``gained`` name oracles, as instance::comment, whose mean
    fell or rose. ``p`` is exact McNemar's, oracles independent; ``p_clusters`` that of swapping the runs cluster by
    cluster.
    ``smallest_drop`` is what a repetition of this comparison shows in four of five cases. ``doubtful`` pairs have an
    unknown repeat on either side.
    """

    pairs: int
    known: int
    doubtful: int = 0
    unmeasured: int = 0
    only_before: int = 0
    only_after: int = 0
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    low: float | None = None
    high: float | None = None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    p: float = 1.0
    p_clusters: float = 1.0
    discordance: float | None = None
    smallest_drop: float | None = None


def compare(before: Mapping[Key, Measured], after: Mapping[Key, Measured]) -> Comparison:
    """Pair two measurements oracle by oracle; repeats are averaged per oracle first."""
    both = [key for key in before if key in after]
    keys = [key for key in both if before[key].value is not None or after[key].value is not None]
    bare = Comparison(
        pairs=len(keys),
        known=0,
        doubtful=sum(before[key].unknown + after[key].unknown > 0 for key in keys),
        unmeasured=len(both) - len(keys),
        only_before=len(before) - len(both),
        only_after=sum(key not in before for key in after),
    )
    if not keys:
        return bare
    worst = [after[key].low - before[key].high for key in keys]
    best = [after[key].high - before[key].low for key in keys]
    labels, _ = clusters_of(keys, {key: after[key].repo for key in keys})
    low, high = difference_interval(worst, labels)[0], difference_interval(best, labels)[1]
    bare = dataclasses.replace(bare, low=low, high=high)
    known = [key for key in keys if before[key].value is not None and after[key].value is not None]
    if not known:
        return bare
    values = {key: (before[key].value or 0.0, after[key].value or 0.0) for key in known}
    found = _compared(bare, values, {key: after[key].repo for key in known})
    return dataclasses.replace(found, smallest_drop=smallest_drop(_again(found, before, after, keys)))


def clusters_of(keys: Sequence[Key], repos: Mapping[Key, str]) -> tuple[list[str], str]:
    """The cluster of each oracle and what clusters are: repositories, or pull requests, where there are ENOUGH.

    With fewer pull requests than that each oracle is a cluster of its own, which is said wherever intervals are.
    """
    labels = [repos[key] for key in keys]
    if len(set(labels)) >= ENOUGH:
        return labels, REPOSITORY
    labels = [instance for instance, _ in keys]
    return (labels, PULL_REQUEST) if len(set(labels)) >= ENOUGH else ([named(key) for key in keys], ORACLE)


def design_of(
    keys: Sequence[Key],
    repos: Mapping[Key, str],
    *,
    rate: float,
    noise: float,
    unknown: float = 0.0,
    unknown_before: float = 0.0,
    correlation: float = 0.0,
) -> Design:
    """The comparison that these oracles would make."""
    labels, _ = clusters_of(keys, repos)
    sizes: dict[str, int] = {}
    for label in labels:
        sizes[label] = sizes.get(label, 0) + 1
    return Design(
        sizes=tuple(sizes.values()),
        noise=noise,
        rate=rate,
        unknown=unknown,
        unknown_before=unknown_before,
        correlation=correlation,
    )


def named(key: Key) -> str:
    """How an oracle is named: instance::comment."""
    return "::".join(key)


def _compared(bare: Comparison, values: Mapping[Key, tuple[float, float]], repos: Mapping[Key, str]) -> Comparison:
    keys = list(values)
    differences = [new - old for old, new in values.values()]
    labels, by = clusters_of(keys, repos)
    own = spread(differences, labels)
    lost = tuple(named(key) for key, value in zip(keys, differences, strict=True) if value < -1e-9)
    gained = tuple(named(key) for key, value in zip(keys, differences, strict=True) if value > 1e-9)
    low, high = difference_interval(differences, labels)
    return dataclasses.replace(
        bare,
        known=len(keys),
        before=math.fsum(old for old, _ in values.values()) / len(keys),
        after=math.fsum(new for _, new in values.values()) / len(keys),
        difference=own.mean,
        interval=Interval(low=low, high=high, by=by, clusters=own.clusters),
        lost=lost,
        gained=gained,
        p=mcnemar(len(lost), len(gained)),
        p_clusters=swap_test(differences, labels),
        discordance=math.fsum(value * value for value in differences) / len(keys),
    )


def _again(
    found: Comparison, before: Mapping[Key, Measured], after: Mapping[Key, Measured], keys: Sequence[Key]
) -> Design:
    """What a repetition of a comparison would be: as noisy besides its difference, and with as much unknown."""
    known = [key for key in keys if before[key].value is not None and after[key].value is not None]
    repos = {key: after[key].repo for key in keys}
    labels, _ = clusters_of(known, repos)
    return design_of(
        keys,
        repos,
        rate=found.before or 0.0,
        noise=max(0.0, (found.discordance or 0.0) - abs(found.difference or 0.0)),
        unknown=math.fsum(after[key].doubt for key in keys) / len(keys),
        unknown_before=math.fsum(before[key].doubt for key in keys) / len(keys),
        correlation=correlation_of([before[key].value or 0.0 for key in known], labels),
    )
