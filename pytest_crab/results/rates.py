"""Rates of oracles: how many are caught of those that are known, over oracles and over instances, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_crab.results.outcomes import OracleRecord, instance_means, macro_interval, micro_interval, total
from pytest_crab.statistics.comparison import PULL_REQUEST, REPOSITORY, Interval
from pytest_crab.types import Category, Kind, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The oracles of one reviewer: all of them, or those with one label.

    Rates lie between 0 and 1; None: not measured. The 95% intervals know of clusters, and not of what is unknown.
    """

    #: All of them.
    oracles: int
    #: Those with a known repeat.
    known: int
    #: The sum of the values of the known ones.
    caught: float
    #: Caught / known.
    micro: float | None = None
    #: The mean of caught / known over the instances where any is known.
    macro: float | None = None
    #: The micro rate over all oracles, everything unknown missed.
    low: float | None = None
    #: The same, everything unknown caught.
    high: float | None = None
    #: The 95% interval of ``micro``.
    interval: Interval | None = None
    #: The same for pull requests like these in these repositories; None of a label's rate, and where ``interval``
    #: speaks for no others.
    here: Interval | None = None
    #: The 95% interval of ``macro``; None of a label's rate.
    macro_interval: Interval | None = None

    @property
    def unknown(self) -> int:
        """The oracles without any known repeat, so that ``known`` and these are all."""
        return self.oracles - self.known


def rate_of(oracles: Sequence[OracleRecord], *, strict: bool, of_label: bool = False) -> Rate:
    """Return the rate of these oracles; ``strict``: what is unknown counts as missed.

    ``of_label``: they are those with one label, which have one interval.
    """
    alike = {oracle.verdicts: oracle for oracle in oracles}  # few, and much depends on these letters alone
    found = {letters: value for letters, one in alike.items() if (value := one.value(strict=strict)) is not None}
    keyed = {oracle.key: oracle for oracle in oracles}
    values = {key: found[one.verdicts] for key, one in keyed.items() if one.verdicts in found}
    means = instance_means(values)
    repos = {key: one.repo for key, one in keyed.items()}
    interval = micro_interval(values, repos)
    wide = interval is not None and interval.by == REPOSITORY
    counts = Counter(oracle.verdicts for oracle in oracles)

    def summed(value: Callable[[OracleRecord], Fraction | None]) -> Fraction:
        return total(count * (value(alike[letters]) or Fraction()) for letters, count in counts.items())

    caught = summed(lambda oracle: oracle.value(strict=strict))
    return Rate(
        oracles=len(oracles),
        known=len(values),
        caught=float(caught),
        micro=float(caught / len(values)) if values else None,
        macro=_mean(list(means.values())),
        low=float(summed(lambda oracle: oracle.share(Verdict.CAUGHT.value)) / len(oracles)) if oracles else None,
        high=float(summed(OracleRecord.most_caught) / len(oracles)) if oracles else None,
        interval=interval,
        here=micro_interval(values, repos, PULL_REQUEST) if wide and not of_label else None,
        macro_interval=None if of_label else macro_interval(means, repos),
    )


def rates_by_label(oracles: Sequence[OracleRecord], *, strict: bool) -> dict[str, dict[str, Rate]]:
    """Return the rates of these oracles by dimension and label; c-CRAB's own words in their order, others by name."""
    found: dict[str, dict[str, list[OracleRecord]]] = {}
    for oracle in oracles:
        for dimension, word in oracle.labels.items():
            found.setdefault(dimension, {}).setdefault(word, []).append(oracle)
    order = {word.value: place for place, word in enumerate((*Kind, *Category))}
    return {
        dimension: {
            word: rate_of(found[dimension][word], strict=strict, of_label=True)
            for word in sorted(found[dimension], key=lambda word: (order.get(word, len(order)), word))
        }
        for dimension in sorted(found)
    }


def _mean(values: Sequence[Fraction]) -> float | None:
    """Return the mean, exact until the end, so that 7 of 10 is what a person types as 0.7; None of nothing."""
    return float(total(values) / len(values)) if values else None
