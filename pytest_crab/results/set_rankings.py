"""Two sets that measured the same reviewers: how far they rank them alike, with no rate over both."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pytest_crab.errors import BadInput
from pytest_crab.results.rates import Rate
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.rank_agreement import FEWEST, RankAgreement, agreement_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedReviewer:
    """A reviewer with its rate on either set."""

    reviewer: str
    one: Rate
    other: Rate
    #: Whether it was shown the answer in one of them.
    privileged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRankings:
    """The rankings of the same reviewers by two sets."""

    #: In the order of their rates on the first set.
    reviewers: tuple[RankedReviewer, ...]
    #: The agreement of both rankings; its interval resamples the pull requests of either set.
    ranks: RankAgreement
    #: Pairs of reviewers whose order differs.
    turned: tuple[tuple[str, str], ...]
    #: Whether each set is of injected faults.
    injected: tuple[bool, bool]
    pull_requests: tuple[int, int]


def rank_sets(one: Summary, other: Summary, names: Collection[str] = ()) -> SetRankings:
    """Compare the rankings of the reviewers that both runs have and that are known in both; ``names`` takes some alone.

    Raises BadInput for fewer than FEWEST.
    """
    missing = [name for name in names if name not in one.contestants or name not in other.contestants]
    if missing:
        raise BadInput("--reviewer", [f"{name} is not in both runs" for name in missing])
    pairs = [
        RankedReviewer(
            reviewer=name,
            one=own.overall,
            other=other.contestants[name].overall,
            privileged=name in (*own.privileged, *other.contestants[name].privileged),
        )
        for name, own in one.contestants.items()
        if name in other.contestants and (not names or name in names)
    ]
    found = [pair for pair in pairs if pair.one.micro is not None and pair.other.micro is not None]
    if len(found) < FEWEST:
        told = ", ".join(pair.reviewer for pair in found) or "none"
        raise BadInput("the two runs", [f"they share too few measured reviewers to rank ({told}); {FEWEST} are needed"])
    found.sort(key=lambda pair: -(pair.one.micro or 0.0))
    order = [pair.reviewer for pair in found]
    clusters = _by_pull_request(one, order), _by_pull_request(other, order)
    return SetRankings(
        reviewers=tuple(found),
        ranks=agreement_apart(*clusters, len(order)),
        turned=tuple(
            (above.reviewer, below.reviewer)
            for above, below in itertools.combinations(found, 2)
            if (above.one.micro or 0) > (below.one.micro or 0) and (above.other.micro or 0) < (below.other.micro or 0)
        ),
        injected=(_is_injected(one), _is_injected(other)),
        pull_requests=(len(clusters[0]), len(clusters[1])),
    )


def _by_pull_request(summary: Summary, order: Sequence[str]) -> list[list[tuple[int, float]]]:
    """Return the values that the rates of these reviewers are made of, by pull request, which is what draws take."""
    found: dict[str, list[tuple[int, float]]] = {}
    for number, name in enumerate(order):
        for oracle in summary.contestants[name].oracles:
            value = oracle.value(strict=summary.errors_as_misses)
            if value is not None:
                found.setdefault(oracle.instance, []).append((number, float(value)))
    return list(found.values())


def _is_injected(summary: Summary) -> bool:
    return any(own.injected for own in summary.reviewers)
