"""Shares of repository, pull request, oracle and run in the variance of verdicts, and the gain of further runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.statistics.clusters import clustered_mean
from pytest_crab.statistics.repeats import flips

#: The sources of variance, from the widest to the narrowest.
SOURCES = ("repository", "pull request", "oracle", "run")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedOracle:
    """One oracle with its known runs, of which ``caught`` caught."""

    repo: str
    pull: str
    caught: int
    runs: int

    @property
    def value(self) -> float:
        """The mean over its runs."""
        return self.caught / self.runs


def variance_shares(oracles: Sequence[RepeatedOracle]) -> dict[str, float]:
    """Return the share of each of SOURCES in the variance of a single verdict; empty where all verdicts are the same.

    What oracles of one repository have in common, beyond all, is the repository's share, and what those of one pull
    request have in common beyond that is the pull request's; ``run`` is what differs between runs of one oracle. The
    estimates are mean products of deviations over pairs; one below 0 is luck and taken as 0.
    """
    mean = math.fsum(own.value for own in oracles) / len(oracles)
    noise = _noise(oracles)
    within_pull, across_pulls = _covariances(oracles, mean)
    total = mean * (1 - mean)
    if total < 1e-12:
        return {}
    repository = max(0.0, across_pulls)
    pull = max(0.0, within_pull - repository)
    parts = (repository, pull, max(0.0, total - noise - repository - pull), noise)
    return {name: part / math.fsum(parts) for name, part in zip(SOURCES, parts, strict=True)}


def narrowing(oracles: Sequence[RepeatedOracle]) -> dict[str, float] | None:
    """Return by what share the interval of the rate narrows if a run like this is added.

    ``instances``: as many new ones from further repositories like these; ``repeats``: as many repeats of the same ones.
    None: nothing varies.
    """
    own = clustered_mean([one.value for one in oracles], [one.repo for one in oracles])
    variance = own.effect * own.independent
    if variance < 1e-12:
        return None
    runs = math.fsum(1 / one.runs for one in oracles) / len(oracles)
    noise = min(variance, _noise(oracles) * runs / len(oracles))
    return {"instances": 1 - math.sqrt(0.5), "repeats": 1 - math.sqrt(1 - noise / variance / 2)}


def _noise(oracles: Iterable[RepeatedOracle]) -> float:
    """Return the variance between runs of one oracle: half the chance that two of them differ."""
    found = [share for own in oracles if (share := flips(own.caught, own.runs)) is not None]
    return math.fsum(found) / len(found) / 2 if found else 0.0


def _covariances(oracles: Iterable[RepeatedOracle], mean: float) -> tuple[float, float]:
    """Return the mean product of deviations of two oracles of one pull request, and of two of one repository only."""
    pulls: dict[tuple[str, str], list[float]] = {}
    for own in oracles:
        pulls.setdefault((own.repo, own.pull), []).append(own.value - mean)
    repos: dict[str, list[list[float]]] = {}
    for (repo, _), values in pulls.items():
        repos.setdefault(repo, []).append(values)
    within = _mean_of_pairs(pulls.values())
    all_pairs = _sum_of_pairs([value for values in own for value in values] for own in repos.values())
    inside = _sum_of_pairs(pulls.values())
    count = all_pairs[1] - inside[1]
    return within, (all_pairs[0] - inside[0]) / count if count else 0.0


def _mean_of_pairs(groups: Iterable[Sequence[float]]) -> float:
    total, count = _sum_of_pairs(groups)
    return total / count if count else 0.0


def _sum_of_pairs(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the sum of the products of two different values of one group, over all groups, and how many there are."""
    total, count = 0.0, 0
    for values in groups:
        total += (math.fsum(values) ** 2 - math.fsum(value * value for value in values)) / 2
        count += len(values) * (len(values) - 1) // 2
    return total, count
