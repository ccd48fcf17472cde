"""Shares of repository, pull request, oracle, reviewer and agent in the variance of verdicts, and what more gains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import clustered_mean

#: The sources of variance, from the widest to the narrowest: of what runs differ in, and of what they share.
_PLACES = ("repository", "pull request", "oracle")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedOracle:
    """One oracle with its known runs."""

    repo: str
    pull: str
    #: For each review how many of its revisions caught, and how many there are.
    reviews: tuple[tuple[int, int], ...]

    @property
    def caught(self) -> int:
        """The runs that caught it."""
        return sum(caught for caught, _ in self.reviews)

    @property
    def runs(self) -> int:
        """The runs, over all its reviews."""
        return sum(runs for _, runs in self.reviews)

    @property
    def value(self) -> float:
        """The mean over its runs."""
        return self.caught / self.runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The variance of one oracle's verdicts: half the chance that two such runs differ; None: no oracle has two."""

    #: That across its reviews.
    across: float | None
    #: That within one review, which is the agent's.
    within: float | None

    @property
    def parts(self) -> dict[str, float]:
        """The variance of each source that can be separated; the reviewer's is the rest after the agent's."""
        if self.within is None:
            return {} if self.across is None else {"run": self.across}
        reviewer = {} if self.across is None else {"reviewer": max(0.0, self.across - self.within)}
        return {**reviewer, "agent": self.within}


def noise_of(oracles: Iterable[RepeatedOracle]) -> Noise:
    """Return the noise of these oracles, each of which counts as much as any other."""
    across, within = [], []
    for own in oracles:
        alike = (
            sum(caught * (runs - caught) for caught, runs in own.reviews),
            sum(n * (n - 1) / 2 for _, n in own.reviews),
        )
        every = own.caught * (own.runs - own.caught), own.runs * (own.runs - 1) / 2
        if alike[1]:
            within.append(alike[0] / alike[1])
        if every[1] > alike[1]:
            across.append((every[0] - alike[0]) / (every[1] - alike[1]))
    return Noise(across=_half_mean(across), within=_half_mean(within))


def variance_shares(oracles: Sequence[RepeatedOracle]) -> dict[str, float]:
    """Return the share of each source in the variance of a single verdict; empty where all verdicts are the same.

    What oracles of one repository have in common, beyond all, is the repository's share, and what those of one pull
    request have in common beyond that is the pull request's. What differs between revisions of one review is the
    agent's, and what differs beyond it between reviews is the reviewer's: the two together are ``run`` where no review
    was revised twice, and where there is one review of each pull request the reviewer's is part of the oracle's. The
    estimates are mean products of deviations over pairs; one below 0 is luck and taken as 0.
    """
    mean = math.fsum(own.value for own in oracles) / len(oracles)
    total = mean * (1 - mean)
    if total < 1e-12:
        return {}
    noise = noise_of(oracles).parts
    within_pull, across_pulls = _covariances(oracles, mean)
    repository = max(0.0, across_pulls)
    pull = max(0.0, within_pull - repository)
    oracle = max(0.0, total - math.fsum(noise.values()) - repository - pull)
    parts = {**dict(zip(_PLACES, (repository, pull, oracle), strict=True)), **noise}
    whole = math.fsum(parts.values())
    return {name: part / whole for name, part in parts.items()}


def narrowing(oracles: Sequence[RepeatedOracle], *, review_price: float = 0.0) -> dict[str, float] | None:
    """Return by what share the interval of the rate narrows for as much money again as this run took.

    ``instances``: as many new ones from further repositories like these; ``repeats``: as many reviews of the same ones,
    with their revisions; ``revisions``: more revisions of the same reviews, where a review costs ``review_price`` times
    what a revision does. What the runs do not show is left out. None: nothing varies.
    """
    own = clustered_mean([one.value for one in oracles], [one.repo for one in oracles])
    variance = own.effect * own.independent
    if variance < 1e-12:
        return None
    noise = noise_of(oracles)
    count = len(oracles)
    of_agent = (noise.within or 0.0) * math.fsum(1 / one.runs for one in oracles) / count
    found = {"instances": variance / 2}
    if noise.across is not None:
        rest = max(0.0, noise.across - (noise.within or 0.0))
        of_reviewer = rest * math.fsum(_review_factor(one) for one in oracles) / count
        found["repeats"] = min(variance, (of_agent + of_reviewer) / count) / 2
    if noise.within is not None:
        made = math.fsum(one.runs for one in oracles) / math.fsum(len(one.reviews) for one in oracles)
        more = (made + review_price) / (2 * made + review_price)
        found["revisions"] = min(variance, of_agent / count) * more
    return {name: 1 - math.sqrt(1 - gain / variance) for name, gain in found.items()}


def _review_factor(own: RepeatedOracle) -> float:
    """Return by what the variance of a review is multiplied in the mean of an oracle's runs."""
    return sum(runs * runs for _, runs in own.reviews) / own.runs**2


def _half_mean(shares: Sequence[float]) -> float | None:
    return math.fsum(shares) / len(shares) / 2 if shares else None


def _covariances(oracles: Iterable[RepeatedOracle], mean: float) -> tuple[float, float]:
    """Return the mean product of deviations of two oracles of one pull request, and of two of one repository only."""
    pulls: dict[tuple[str, str], list[float]] = {}
    for own in oracles:
        pulls.setdefault((own.repo, own.pull), []).append(own.value - mean)
    repos: dict[str, list[list[float]]] = {}
    for (repo, _), values in pulls.items():
        repos.setdefault(repo, []).append(values)
    all_pairs = _sum_of_pairs([value for values in own for value in values] for own in repos.values())
    inside = _sum_of_pairs(pulls.values())
    count = all_pairs[1] - inside[1]
    within = inside[0] / inside[1] if inside[1] else 0.0
    return within, (all_pairs[0] - inside[0]) / count if count else 0.0


def _sum_of_pairs(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the sum of the products of two different values of one group, over all groups, and how many there are."""
    total, count = 0.0, 0
    for values in groups:
        total += (math.fsum(values) ** 2 - math.fsum(value * value for value in values)) / 2
        count += len(values) * (len(values) - 1) // 2
    return total, count
