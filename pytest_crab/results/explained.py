"""Explanations of verdicts over a run: rates beside the pass rate, and the comments to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from pytest_crab.results.outcomes import micro_interval, total
from pytest_crab.results.rates import Rate
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import ExplainedOutcome, Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRates:
    """The shares of a reviewer's oracles, each averaged over repeats."""

    #: A finding lies near the comment.
    found: Rate
    #: The commits of the findings near it resolve it. Bounds and no rate where that is not told of all: the rest is no
    #: sample.
    alone: Rate
    #: They do, and another change of the revision turns it red.
    spoiled: Rate
    #: The number of each explanation, in all repeats.
    outcomes: Mapping[str, int] = field(default_factory=dict)

    def rates(self) -> dict[str, Rate]:
        """Return the rates by what they are called."""
        return {"found": self.found, "resolved alone": self.alone, "spoiled": self.spoiled}


#: By comment of one trial.
Explanations = Mapping[str, Explanation]


def explained_rates(trials: Iterable[tuple[str, str, Explanations]]) -> ExplainedRates | None:
    """Return the rates over trials, each an instance, its repository and its explanations; None: there are none."""
    found: dict[Key, list[bool]] = {}
    alone: dict[Key, list[bool]] = {}
    spoiled: dict[Key, list[bool]] = {}
    repos: dict[Key, str] = {}
    outcomes: Counter[str] = Counter()
    for instance, repo, explanations in trials:
        for comment, one in explanations.items():
            key = (instance, comment)
            repos[key] = repo
            outcomes[one.outcome.value] += 1
            found.setdefault(key, []).append(one.found)
            spoiled.setdefault(key, []).append(one.outcome is ExplainedOutcome.SPOILED)
            if one.alone is not None:
                alone.setdefault(key, []).append(one.alone)
    if not repos:
        return None
    order = [word.value for word in ExplainedOutcome]
    return ExplainedRates(
        found=_rate(found, repos),
        alone=_rate(alone, repos),
        spoiled=_rate(spoiled, repos),
        outcomes={word: outcomes[word] for word in order if outcomes[word]},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFirst:
    """A missed comment that a finding lies near: the place and the tests differ, so that a person should look."""

    #: The trial's name, as ``pytest-crab show`` takes it.
    trial: str
    comment: str
    #: The explanation in words.
    why: str
    #: Its first words: spoiled, or not resolved.
    outcome: str = ""


#: The explanations that tell most about the measure itself come first.
_FIRST = (ExplainedOutcome.SPOILED, ExplainedOutcome.UNCLEAR, ExplainedOutcome.NOT_RESOLVED, ExplainedOutcome.LEFT)
_MOST_LOOKS = 20


def look_first(trials: Iterable[tuple[str, Explanations]]) -> tuple[LookFirst, ...]:
    """Return at most 20 comments to look at, of trials by name with the explanations of their missed comments."""
    found = [
        (_FIRST.index(one.outcome), LookFirst(trial=trial, comment=comment, why=one.words, outcome=one.outcome.value))
        for trial, explanations in trials
        for comment, one in explanations.items()
        if one.found and one.outcome in _FIRST
    ]
    return tuple(look for _, look in sorted(found, key=lambda pair: pair[0])[:_MOST_LOOKS])


def _rate(seen: Mapping[Key, list[bool]], repos: Mapping[Key, str]) -> Rate:
    values = {key: Fraction(sum(own), len(own)) for key, own in seen.items()}
    caught, all_told = total(values.values()), len(values) == len(repos)
    return Rate(
        oracles=len(repos),
        known=len(values),
        caught=float(caught),
        micro=float(caught / len(values)) if all_told else None,
        low=float(caught / len(repos)),
        high=float((caught + len(repos) - len(values)) / len(repos)),
        interval=micro_interval(values, repos) if all_told else None,
    )
