"""The past runs that a run is compared with: baselines, several of them pooled, and an anchor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.gate.comparable import differences, refusal
from pytest_crab.gate.pairing import conditions, known_flips
from pytest_crab.gate.resolved import RATE, decided_on
from pytest_crab.results.kept_runs import kept_runs
from pytest_crab.results.loading import load_summary
from pytest_crab.results.model_usage import whole_sum
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.stability import stability
from pytest_crab.results.summary import Summary, union_of_words
from pytest_crab.statistics.comparison import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A past run, or several pooled."""

    summary: Summary
    #: The words for it in sentences.
    name: str


#: How many of the newest runs in a store are searched for repeats.
_SEARCHED = 20


def repeated_run(store: Path, own: ReviewerSummary) -> tuple[ReviewerSummary, str] | None:
    """Return a run of this reviewer that shows its noise, and the words for its repeats; None: none is known.

    It is the run itself, or else the newest in the store with repeats of the same reviewer and agents.
    """
    if known_flips(own) is not None:
        return own, "its own repeats"
    for folder in kept_runs(store)[: -_SEARCHED - 1 : -1]:
        try:
            found = load_summary(folder).contestants.get(own.reviewer)
        except BadInput:  # it was killed, or is under way
            continue
        if found is not None and found.agents == own.agents and known_flips(found) is not None:
            return found, f"the repeats of {folder}"
    return None


def load_reference(
    paths: Sequence[Path],
    *,
    allowed: str | None = None,
    role: str = "",
    on: str = RATE,
    load: Callable[[Path], Summary] = load_summary,
) -> Reference:
    """Load past runs and pool them, with the verdicts that a gate decides ``on``; ``role`` stands before the name.

    Raises BadInput if they cannot be pooled.
    """
    runs = [decided_on(load(path), on) for path in paths]
    name = f"{role}{paths[0].name}"
    if len(runs) > 1:
        name += f" pooled with {format_count(len(runs) - 1, 'other run')}"
    return Reference(summary=_pool(runs, paths, allowed), name=name)


def _pool(runs: Sequence[Summary], paths: Sequence[Path], allowed: str | None) -> Summary:
    """Return the first run with the others' trials as repeats of its own."""
    if len(runs) == 1:
        return runs[0]
    several: dict[str, list[ReviewerSummary]] = {}
    for run, path in zip(runs, paths, strict=True):
        for name, own in runs[0].contestants.items():
            other = run.contestants.get(name)
            if other is None:
                raise BadInput(str(path), [f"it has no reviewer {name}, so it cannot be pooled with {paths[0]}"])
            why = refusal(differences(conditions(runs[0], own), conditions(run, other)), allowed)
            if why is not None:
                raise BadInput(str(path), [f"it cannot be pooled with {paths[0]}: {why}"])
            several.setdefault(name, []).append(other)
    return dataclasses.replace(
        runs[0],
        reviewers=tuple(_pool_reviewer(own) for own in several.values()),
        digests={name: digest for run in runs for name, digest in run.digests.items()},
    )


def _pool_reviewer(several: Sequence[ReviewerSummary]) -> ReviewerSummary:
    """Return what comparisons read of a reviewer, over all runs; rates stay those of the first run."""
    oracles = _pool_oracles(several)
    comments = [own.comments_per_pull_request for own in several if own.comments_per_pull_request is not None]
    return dataclasses.replace(
        several[0],
        oracles=oracles,
        repeats=sum(own.repeats for own in several),
        trials=sum(own.trials for own in several),
        stability=stability(oracles),
        comments_per_pull_request=sum(comments) / len(comments) if comments else None,
        cost_usd=whole_sum([own.cost_usd for own in several]),
        unpriced=sum(own.unpriced for own in several),
        versions=union_of_words(own.versions for own in several),
    )


def _pool_oracles(several: Sequence[ReviewerSummary]) -> tuple[OracleRecord, ...]:
    found: dict[Key, OracleRecord] = {}
    for own in several:
        for oracle in own.oracles:
            before = found.get(oracle.key)
            verdicts = oracle.verdicts if before is None else before.verdicts + oracle.verdicts
            reviews = oracle.reviews if before is None else _pool_reviews(before, oracle)
            found[oracle.key] = dataclasses.replace(oracle, verdicts=verdicts, repeats=(), reviews=reviews)
    return tuple(found.values())


def _pool_reviews(one: OracleRecord, other: OracleRecord) -> tuple[int, ...]:
    """Return the numbers of both runs' reviews, each of its own; none where every verdict has one of its own."""
    if not one.reviews and not other.reviews:
        return ()
    first = one.review_numbers
    return (*first, *(max(first) + number for number in other.review_numbers))
