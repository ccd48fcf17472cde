"""Every oracle of a reviewer with its verdicts, repeat by repeat: what comparisons read, and rates are made of."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pytest_crab.statistics.clusters import rate_interval
from pytest_crab.statistics.comparison import REPOSITORY, Interval, Key, Measured, clusters_of
from pytest_crab.types import Reason, Verdict

#: One letter for a repeat: caught, missed, missed since the review was empty.
CAUGHT, MISSED, EMPTY = "cme"

#: One letter for each cause of an unknown verdict.
CAUSES = {
    Reason.REVIEWER_ERROR: "r",
    Reason.AGENT_ERROR: "a",
    Reason.BROKEN: "b",
    Reason.NOT_RUN: "n",
    Reason.NOT_JUDGED: "j",
}

#: What each letter is called in ``outcomes``.
OUTCOMES = {
    CAUGHT: Verdict.CAUGHT.value,
    MISSED: Verdict.MISSED.value,
    EMPTY: Verdict.MISSED.value,
    **{one: reason.value for reason, one in CAUSES.items()},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRecord:
    """One oracle with its verdicts."""

    instance: str
    comment: str
    repo: str
    #: The labels of its comment by dimension.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: A letter for each repeat, in their order: see OUTCOMES.
    verdicts: str
    #: The numbers of the repeats where these are not 1, 2 and so on.
    repeats: tuple[int, ...] = ()
    #: The reviews that repeats rest on, where several revisions were made of each; empty: each has its own.
    reviews: tuple[int, ...] = ()
    #: Whether the agent was seen to resolve it from the human comment; None: not examined.
    resolvable: bool | None = None
    #: A letter for each repeat: whether the review's near findings resolve it with no other; empty: none is explained.
    alone: str = ""
    #: The digest of the oracle's file; None: not on record.
    digest: str | None = None

    @property
    def key(self) -> Key:
        """The instance and the comment that identify this oracle."""
        return self.instance, self.comment

    @property
    def review_numbers(self) -> tuple[int, ...]:
        """The number of the review of each verdict."""
        return self.reviews or tuple(range(1, len(self.verdicts) + 1))

    def resolved_alone(self) -> OracleRecord:
        """Return the oracle with what is resolved alone as its verdicts; of what is not explained that is unknown."""
        untold = self.verdicts.translate(str.maketrans(CAUGHT + MISSED, 2 * letter(Reason.NOT_JUDGED)))
        return dataclasses.replace(self, verdicts=self.alone or untold)

    def counts(self) -> Measured:
        """Return the counts of its verdicts, as comparisons take them."""
        return _counts(self.repo, self.verdicts)

    def share(self, outcome: str) -> Fraction:
        """The share of repeats that came to this outcome."""
        return share(self.verdicts, outcome)

    def most_caught(self) -> Fraction:
        """The share that was caught, with everything unknown taken as caught."""
        return _fraction(sum(OUTCOMES[one] != Verdict.MISSED.value for one in self.verdicts), len(self.verdicts))

    def value(self, *, strict: bool = False) -> Fraction | None:
        """The mean over known repeats; ``strict``: over all, what is unknown being missed. None: nothing is known."""
        return _value(self.verdicts, strict)


#: Cached from here on: there are few strings of verdicts and few fractions, and many oracles.


@functools.lru_cache(4096)
def _counts(repo: str, verdicts: str) -> Measured:
    caught, missed = verdicts.count(CAUGHT), sum(map(verdicts.count, (MISSED, EMPTY)))
    return Measured(repo=repo, caught=caught, missed=missed, unknown=len(verdicts) - caught - missed)


@functools.cache
def share(verdicts: str, outcome: str) -> Fraction:
    """The share of these repeats that came to this outcome."""
    return _fraction(sum(OUTCOMES[one] == outcome for one in verdicts), len(verdicts))


@functools.cache
def _value(verdicts: str, strict: bool) -> Fraction | None:  # noqa: FBT001 - a cache knows arguments by their place
    caught = verdicts.count(CAUGHT)
    known = len(verdicts) if strict else caught + sum(map(verdicts.count, (MISSED, EMPTY)))
    return _fraction(caught, known) if known else None


@functools.cache
def _fraction(part: int, whole: int) -> Fraction:
    return Fraction(part, whole)


def total(values: Iterable[Fraction]) -> Fraction:
    """The sum, exact; denominators are few, and adding fractions takes long."""
    parts: dict[int, int] = {}
    for value in values:
        parts[value.denominator] = parts.get(value.denominator, 0) + value.numerator
    return sum((Fraction(part, whole) for whole, part in parts.items()), Fraction())


def instance_means(values: Mapping[Key, Fraction]) -> dict[str, Fraction]:
    """The mean of each instance's oracles, exact."""
    own: dict[str, list[Fraction]] = {}
    for (instance, _), value in values.items():
        own.setdefault(instance, []).append(value)
    return {instance: _mean(several) for instance, several in own.items()}


def _mean(values: Sequence[Fraction]) -> Fraction:
    whole = values[0].denominator
    if any(value.denominator != whole for value in values):
        return sum(values, Fraction()) / len(values)
    return _fraction(sum(value.numerator for value in values), whole * len(values))


def letter(reason: Reason) -> str:
    """The letter of a reason."""
    if reason is Reason.NO_FINDINGS:
        return EMPTY
    return CAUSES.get(reason) or (CAUGHT if reason.verdict is Verdict.CAUGHT else MISSED)


def letter_alone(reason: Reason, alone: bool | None) -> str:  # noqa: FBT001 - None is a third answer
    """The letter of what a review's own near findings resolve, of an explained verdict with this reason."""
    if alone is None or reason.verdict is Verdict.UNKNOWN:
        return letter(reason if reason.verdict is Verdict.UNKNOWN else Reason.NOT_JUDGED)
    return CAUGHT if alone else EMPTY if reason is Reason.NO_FINDINGS else MISSED


def outcomes_of(oracles: Sequence[OracleRecord]) -> dict[str, float]:
    """Return how many of the oracles came to each outcome, each as the mean over its repeats."""
    alike = Counter(oracle.verdicts for oracle in oracles)
    return {
        outcome: float(total(count * share(verdicts, outcome) for verdicts, count in alike.items()))
        for outcome in OUTCOMES.values()
    }


def oracle_counts(oracles: Iterable[OracleRecord]) -> dict[Key, Measured]:
    """Return one reviewer's oracles by key, as comparisons take them."""
    return {oracle.key: oracle.counts() for oracle in oracles}


def against_control(oracles: Iterable[OracleRecord], control: Mapping[Key, OracleRecord]) -> dict[Key, Measured]:
    """The same, with the control's verdict for each empty review: an agent without a finding may still repair."""
    taken = {}
    for oracle in oracles:
        other = control.get(oracle.key)
        verdicts = oracle.verdicts
        if other is not None and EMPTY in verdicts:
            letters = (
                other.verdicts[at % len(other.verdicts)] if one == EMPTY else one for at, one in enumerate(verdicts)
            )
            verdicts = "".join(letters)
        taken[oracle.key] = dataclasses.replace(oracle, verdicts=verdicts).counts()
    return taken


def micro_interval(values: Mapping[Key, Fraction], repos: Mapping[Key, str], unit: str = REPOSITORY) -> Interval | None:
    """The interval of the mean over oracles; None of nothing."""
    if not values:
        return None
    clusters = clusters_of(list(values), repos, unit)
    return clusters.interval(
        rate_interval([value.numerator / value.denominator for value in values.values()], clusters.labels)
    )


def macro_interval(means: Mapping[str, Fraction], repos: Mapping[Key, str]) -> Interval | None:
    """The interval of the mean over instances of an instance's mean; None of nothing."""
    own = {(instance, ""): repo for (instance, _), repo in repos.items()}
    return micro_interval({(instance, ""): mean for instance, mean in means.items()}, own)
