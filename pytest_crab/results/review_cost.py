"""The cost of reviews for their readers and for the code: findings, those without a catch, and changed lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from pytest_crab import diffs
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import ExplainedOutcome, Trial, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Burden:
    """A reviewer's burden, summed over all trials that were measured to their end, repeats too."""

    trials: int = 0
    findings: int = 0
    #: The findings in reviews after which no oracle was caught.
    idle: int = 0
    #: The findings without which every catch is there, by attribution or explanations or since a control has it; None:
    #: not told.
    without_effect: int | None = None
    revisions: int = 0
    #: The lines of all revisions.
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReviews:
    """The reviews of clean pull requests.

    With repeats all reviews count; trials without a review do not.
    """

    #: How many reviews there are.
    reviews: int
    #: In how many of them is a finding.
    alarmed: int
    #: All findings, each of which is a false alarm.
    findings: int

    @property
    def per_pull_request(self) -> float:
        """Return the false alarms per clean pull request."""
        return self.findings / self.reviews


class TrialLoad(NamedTuple):  # as TrialRow is one
    """One trial's part of a burden."""

    findings: int | None
    #: The findings that name a file.
    placed: int
    caught: bool
    known: bool
    #: The findings' places by oracle; None: not attributed.
    effects: Mapping[Key, tuple[int, ...]] | None
    added: int | None
    removed: int | None
    #: Whether the revision has any content.
    changed: bool


def load(trial: Trial) -> TrialLoad:
    """Return one trial's part of the burden."""
    added, removed = (None, None) if trial.revision is None else diffs.counts(trial.revision.diff)
    effects: dict[Key, tuple[int, ...]] | None = None
    if trial.attribution is not None:
        effects = {(trial.instance, comment): tuple(places) for comment, places in trial.attribution.items()}
    elif trial.review is not None and trial.review.size == 0:
        effects = {}
    elif (explained := _explained_effects(trial)) is not None:
        effects = explained
    return TrialLoad(
        findings=None if trial.review is None else trial.review.size,
        placed=0 if trial.review is None else sum(one.path is not None for one in trial.review.findings),
        caught=bool(trial.having(Verdict.CAUGHT)),
        known=any(result.verdict is not Verdict.UNKNOWN for result in trial.results),
        effects=effects,
        added=added,
        removed=removed,
        changed=trial.revision is not None and bool(trial.revision.diff),
    )


def _explained_effects(trial: Trial) -> dict[Key, tuple[int, ...]] | None:
    """Return the places of the findings that each catch needs; None where that of a catch cannot be told."""
    if not trial.explanations:
        return None
    found = {one.comment: trial.explanations.get(one.comment) for one in trial.having(Verdict.CAUGHT)}
    if any(one is None or one.outcome is ExplainedOutcome.UNCLEAR for one in found.values()):
        return None
    return {
        (trial.instance, comment): tuple(number - 1 for number in one.findings)
        for comment, one in found.items()
        if one is not None
    }


def clean_reviews(loads: Iterable[TrialLoad]) -> CleanReviews | None:
    """Return the false alarms of the trials on clean pull requests; None where none was reviewed."""
    counts = [one.findings for one in loads if one.findings is not None]
    if not counts:
        return None
    return CleanReviews(reviews=len(counts), alarmed=sum(count > 0 for count in counts), findings=sum(counts))


def burden(loads: Iterable[TrialLoad], unasked: AbstractSet[Key] = frozenset()) -> Burden:
    """Sum up; what is idle is only known of trials whose oracles are. ``unasked`` is what the control catches."""
    own = [one for one in loads if one.known and one.findings is not None]
    complete = effects_are_known(own)
    return Burden(
        trials=len(own),
        findings=sum(one.findings or 0 for one in own),
        idle=sum(one.findings or 0 for one in own if not one.caught),
        without_effect=sum((one.findings or 0) - _effective(one, unasked) for one in own) if complete else None,
        revisions=sum(one.added is not None for one in own),
        added=sum(one.added or 0 for one in own),
        removed=sum(one.removed or 0 for one in own),
    )


def effects_are_known(loads: Sequence[TrialLoad]) -> bool:
    """Return whether it is known of each of these trials which findings had an effect."""
    told = all(one.effects is not None or not one.caught for one in loads)
    return told and any(one.effects is not None and one.findings for one in loads)


def _effective(one: TrialLoad, unasked: AbstractSet[Key]) -> int:
    return len({at for key, places in (one.effects or {}).items() if key not in unasked for at in places})
