"""Stability over repeats of the same trials: flips of verdicts, and the spread of whole runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev

from pytest_crab.results.outcomes import CAUGHT, EMPTY, MISSED, OracleRecord
from pytest_crab.statistics import repeats
from pytest_crab.statistics.variance_shares import RepeatedOracle, narrowing, noise_of, variance_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """The stability of a reviewer. With one review alone the numbers are of the agent's noise."""

    #: The oracles that have at least two known repeats.
    oracles: int
    #: Those with the same verdict every time.
    stable: int
    #: The noise floor: the share of oracles on which two single runs of the unchanged reviewer differ.
    flips: float
    #: The micro rate of each repeat.
    rates: tuple[float, ...]
    #: The standard deviation of these.
    deviation: float | None = None
    #: The share of oracles that at least one of k runs catches, by k (pass@k): it counts luck, and is no rate.
    pass_at: Mapping[str, float] = field(default_factory=dict)
    #: The shares of repository, pull request, oracle, reviewer and agent in the variance of a verdict.
    variance: Mapping[str, float] = field(default_factory=dict)
    #: The share by which the rate's interval narrows for as much money again, by its use; None: nothing varies.
    narrowing: Mapping[str, float] | None = None
    #: The reviews of a pull request where several revisions were made of each; None: each repeat has its own.
    reviews: int | None = None


def stability(oracles: Sequence[OracleRecord], *, review_price: float = 0.0) -> Stability | None:
    """Return the stability of these verdicts; None where no oracle has two known repeats.

    A review costs ``review_price`` times what a revision does.
    """
    if not any(len(oracle.verdicts) > 1 for oracle in oracles):
        return None
    repeated = [found for oracle in oracles if (found := _repeated_oracle(oracle)).runs]
    several = [(own.caught, own.runs) for own in repeated if own.runs > 1]
    if not several:
        return None
    rates = list(_rates(oracles))
    noise = noise_of(repeated)
    fewest = min(runs for _, runs in several)
    return Stability(
        oracles=len(several),
        stable=sum(caught in (0, runs) for caught, runs in several),
        flips=2 * (noise.across if noise.across is not None else noise.within or 0.0),
        rates=tuple(rates),
        deviation=stdev(rates) if len(rates) > 1 else None,
        pass_at={
            str(k): math.fsum(repeats.pass_at(k, caught, runs) for caught, runs in several) / len(several)
            for k in range(1, fewest + 1)
        },
        variance=variance_shares(repeated),
        narrowing=narrowing(repeated, review_price=review_price),
        reviews=max(len(set(own.reviews)) for own in oracles) if any(own.reviews for own in oracles) else None,
    )


def _repeated_oracle(oracle: OracleRecord) -> RepeatedOracle:
    """Return the counts of an oracle's known verdicts, review by review."""
    found: dict[int, list[bool]] = {}
    for number, one in zip(oracle.review_numbers, oracle.verdicts, strict=True):
        if one in (CAUGHT, MISSED, EMPTY):
            found.setdefault(number, []).append(one == CAUGHT)
    counts = tuple((sum(own), len(own)) for own in found.values())
    return RepeatedOracle(repo=oracle.repo, pull=oracle.instance, reviews=counts)


def _rates(oracles: Sequence[OracleRecord]) -> list[float]:
    known: dict[int, list[bool]] = {}
    for oracle in oracles:
        numbers = oracle.repeats or range(1, len(oracle.verdicts) + 1)
        for number, one in zip(numbers, oracle.verdicts, strict=True):
            if one in (CAUGHT, MISSED, EMPTY):
                known.setdefault(number, []).append(one == CAUGHT)
    return [sum(known[number]) / len(known[number]) for number in sorted(known)]
