"""Two measurements of the same oracles, paired: what was lost and gained, and how sure that is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.formats import format_count
from pytest_crab.statistics.clusters import LEVEL, DifferenceEstimate, difference_estimate
from pytest_crab.statistics.paired import mcnemar, two_sided
from pytest_crab.types import UNNAMED_REPOSITORY

#: An oracle: its instance and its comment.
Key = tuple[str, str]

#: What clusters can be. With pull requests a number speaks for pull requests like these in these repositories, with
#: repositories also for other repositories. Rows are instances of a data set that names no repositories.
REPOSITORY, PULL_REQUEST, ROW = "repository", "pull request", "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One oracle in one run."""

    repo: str
    #: How many of its repeats were caught.
    caught: int
    #: How many were missed.
    missed: int
    #: How many are unknown.
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
    """An interval that knows about clusters."""

    low: float
    high: float
    #: The word for one cluster.
    by: str
    #: The number of clusters.
    clusters: int
    #: The number of repositories that it speaks for, and for no others; 0: for other repositories too.
    only: int = 0

    @property
    def basis(self) -> str:
        """The number of clusters with their unit and, where it speaks for no others, of repositories."""
        clusters = format_count(self.clusters, self.by)
        whose = "this 1 repository" if self.only == 1 else f"these {self.only} repositories"
        return f"{clusters}, for {whose} only" if self.only else clusters

    @property
    def speaks_for(self) -> str:
        """The words for what it speaks for."""
        return "other repositories too" if self.by == REPOSITORY else f"{self.by}s like these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second measurement against the first. Rates, differences and intervals are shares, not points."""

    #: Oracles that both measurements had.
    pairs: int
    #: Pairs with a verdict on both sides; rates, differences and intervals are over these.
    known: int
    #: Pairs with an unknown repeat on either side.
    doubtful: int
    #: Pairs without a verdict on both sides.
    unmeasured: int
    #: Oracles that only the first measurement had.
    only_before: int
    #: Oracles that only the second one had.
    only_after: int
    #: The first rate.
    before: float | None = None
    #: The second rate.
    after: float | None = None
    #: The second rate less the first.
    difference: float | None = None
    #: That of the difference.
    interval: Interval | None = None
    #: The interval for other repositories too, where ``interval`` is not and there are several.
    elsewhere: Interval | None = None
    #: The lower end of the interval over all pairs with every unknown taken as the worst for the second measurement.
    low: float | None = None
    #: The upper end with every unknown taken as the best.
    high: float | None = None
    #: Oracles, as instance::comment, whose mean fell.
    lost: tuple[str, ...] = ()
    #: Oracles whose mean rose.
    gained: tuple[str, ...] = ()
    #: Exact McNemar's, oracles independent.
    p: float = 1.0
    #: That of swapping the runs cluster by cluster.
    p_clusters: float = 1.0
    #: The one-sided p of a drop with every unknown taken as the best.
    p_drop: float = 1.0
    #: The one-sided p of a gain with every unknown taken as the worst.
    p_gain: float = 1.0
    discordance: float | None = None
    #: That of all intervals.
    level: float = LEVEL

    @property
    def drop_shown(self) -> bool:
        """Return whether the test shows a drop at this level, whatever the unknown verdicts are."""
        return self.p_drop < (1 - self.level) / 2

    @property
    def gain_shown(self) -> bool:
        """Return whether the test shows a gain at this level, whatever the unknown verdicts are."""
        return self.p_gain < (1 - self.level) / 2


def compare(
    before: Mapping[Key, Measured], after: Mapping[Key, Measured], *, level: float = LEVEL, unit: str = PULL_REQUEST
) -> Comparison:
    """Pair two measurements oracle by oracle; repeats are averaged per oracle first.

    ``unit`` is what clusters are: with REPOSITORY the numbers speak for other repositories too.
    """
    keys = [key for key in before if key in after]
    means = {key: (before[key].value, after[key].value) for key in keys}
    values = {key: (old, new) for key, (old, new) in means.items() if old is not None and new is not None}
    bare = Comparison(
        pairs=len(keys),
        known=0,
        doubtful=sum(before[key].unknown + after[key].unknown > 0 for key in keys),
        unmeasured=list(means.values()).count((None, None)),
        only_before=len(before) - len(keys),
        only_after=sum(key not in before for key in after),
        level=level,
    )
    if not keys:
        return bare
    repos = {key: after[key].repo for key in keys}
    clusters = clusters_of(keys, repos, unit)
    differences = [new - old for old, new in values.values()]
    sure = len(values) == len(keys) and not bare.doubtful
    if sure:  # the worst and the best are what is known
        worst = best = difference_estimate(differences, clusters.labels)
    else:
        worst = difference_estimate([after[key].low - before[key].high for key in keys], clusters.labels)
        best = difference_estimate([after[key].high - before[key].low for key in keys], clusters.labels)
    bare = dataclasses.replace(
        bare, low=worst.interval(level)[0], high=best.interval(level)[1], p_drop=best.p_drop, p_gain=worst.p_gain
    )
    if not values:
        return bare
    own = clusters if sure else clusters_of(list(values), repos, unit)
    other = clusters_of(list(values), repos, REPOSITORY)
    found = _compare_known(bare, values, own, worst if sure else difference_estimate(differences, own.labels))
    if len(set(other.labels)) == len(set(own.labels)):
        return found
    elsewhere = difference_estimate(differences, other.labels).interval(level)
    return dataclasses.replace(found, elsewhere=other.interval(elsewhere))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """The cluster of each oracle, in the order asked."""

    labels: list[str]
    #: The word for one cluster.
    by: str
    #: The number of repositories that the clusters speak for, and for no others; 0: for other repositories too.
    only: int = 0

    def interval(self, bounds: tuple[float, float]) -> Interval:
        """Return these bounds with what they speak for."""
        low, high = bounds
        return Interval(low=low, high=high, by=self.by, clusters=len(set(self.labels)), only=self.only)


def clusters_of(keys: Sequence[Key], repos: Mapping[Key, str], unit: str = REPOSITORY) -> Clusters:
    """Return the repositories of these oracles as clusters; of a single repository its pull requests.

    An instance whose data set does not name its repository is a cluster of its own; where none is named, it is a row.
    """
    instances, named = [instance for instance, _ in keys], [repos[key] for key in keys]
    if set(named) == {UNNAMED_REPOSITORY}:
        return Clusters(labels=instances, by=ROW)
    count = len(set(named))
    if count > 1 and unit == REPOSITORY:
        pairs = zip(instances, named, strict=True)
        own = [instance if repo == UNNAMED_REPOSITORY else repo for instance, repo in pairs]
        return Clusters(labels=own, by=REPOSITORY)
    return Clusters(labels=instances, by=PULL_REQUEST, only=count)


def oracle_name(key: Key) -> str:
    """Return the name of an oracle: instance::comment."""
    return "::".join(key)


def _compare_known(
    bare: Comparison, values: Mapping[Key, tuple[float, float]], clusters: Clusters, estimate: DifferenceEstimate
) -> Comparison:
    differences = [new - old for old, new in values.values()]
    lost = tuple(oracle_name(key) for key, value in zip(values, differences, strict=True) if value < -1e-9)
    gained = tuple(oracle_name(key) for key, value in zip(values, differences, strict=True) if value > 1e-9)
    count = len(values)
    return dataclasses.replace(
        bare,
        known=count,
        before=math.fsum(old for old, _ in values.values()) / count,
        after=math.fsum(new for _, new in values.values()) / count,
        difference=math.fsum(differences) / count,
        interval=clusters.interval(estimate.interval(bare.level)),
        lost=lost,
        gained=gained,
        p=mcnemar(len(lost), len(gained)),
        p_clusters=two_sided((estimate.p_drop, estimate.p_gain)),
        discordance=math.fsum(value * value for value in differences) / count,
    )
