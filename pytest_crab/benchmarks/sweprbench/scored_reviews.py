"""Stored reviews scored by SWE-PRBench's rule: judged finding by finding, matched in two stages, summed by reviewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from pytest_crab.benchmarks.sweprbench.measures import (
    CONFIRMED,
    LABELS,
    PAPER,
    PLAUSIBLE,
    RELEASE,
    ReviewCounts,
    ReviewScore,
    ScoreSummary,
    adjacent_detection,
    score_review,
    summarise_scores,
)
from pytest_crab.benchmarks.sweprbench.reports import RecordedScore
from pytest_crab.benchmarks.sweprbench.scorer import MIDDLE_ACTIONABILITY, LabelledFinding, match_review
from pytest_crab.clients.status_table import Status
from pytest_crab.diffs import changed_lines
from pytest_crab.instances.pull_requests import Subject, subject_reader
from pytest_crab.scoring.judges.judging import questions_by_trial
from pytest_crab.scoring.judges.reviews import AskedPair, JudgedFinding, label_of_finding
from pytest_crab.scoring.judges.votes import Decide, VotedLabel
from pytest_crab.scoring.location import Place
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.text import one_line
from pytest_crab.types import Finding, Trial, TrialId


@dataclass(frozen=True, slots=True, kw_only=True)
class PrbenchReview:
    """One scored review."""

    trial: str
    instance: str
    reviewer: str
    difficulty: str
    #: Those of its findings after matching.
    labels: tuple[str, ...]
    counts: ReviewCounts
    score: ReviewScore
    #: The share of findings on no added line, of pull requests whose issues may lie beside the diff.
    adjacent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrbenchReviewer:
    """One reviewer's summary, over all its reviews and by difficulty."""

    reviewer: str
    summary: ScoreSummary
    by_difficulty: Mapping[str, ScoreSummary]
    #: The mean of ``adjacent``, which is in no score.
    adjacent_detection: float
    #: Reviews without a finding.
    silent: int
    unreadable: int
    fallbacks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PrbenchReport:
    """All reviews by one judge."""

    judge: str
    rule: str
    reviewers: tuple[PrbenchReviewer, ...]
    reviews: tuple[PrbenchReview, ...]
    #: With the judge's own labels, before matching.
    findings: tuple[JudgedFinding, ...]
    #: The trials that are not scored, counted by their reason.
    left_out: Mapping[str, int] = field(default_factory=dict)


def score_trials(
    judge: str,
    trials: Sequence[Trial],
    report: Path,
    decide: Decide,
    similar: Similarity,
    *,
    rule: str = PAPER,
) -> PrbenchReport:
    """Score the last record of every trial of a contestant on a pull request with human comments.

    Raises BadInput, and what ``decide`` raises.
    """
    wanted = [trial for trial in trials if trial.variant is None and trial.comments]
    read = subject_reader(report)
    asked = questions_by_trial(wanted, read)
    decisions = decide(question for own in asked.values() for question in own.values())
    cells = {name: {cell: decisions[question.digest] for cell, question in own.items()} for name, own in asked.items()}
    reviews: list[PrbenchReview] = []
    left_out: Counter[str] = Counter()
    for trial in wanted:
        reason = _why_not(trial, cells)
        if reason is None:
            reviews.append(_review(trial, read, cells.get(trial.id, {}), similar, rule))
        else:
            left_out[reason] += 1
    findings = [finding for trial in wanted for finding in _findings(trial, cells.get(trial.id, {}))]
    return PrbenchReport(
        judge=judge,
        rule=rule,
        reviewers=tuple(
            _reviewer(name, [review for review in reviews if review.reviewer == name], rule)
            for name in dict.fromkeys(review.reviewer for review in reviews)
        ),
        reviews=tuple(reviews),
        findings=tuple(findings),
        left_out=dict(left_out.most_common()),
    )


def recorded_report(recorded: Sequence[RecordedScore]) -> PrbenchReport:
    """Return the report of judged reviews that SWE-PRBench's harness recorded, scored anew by the release's rule."""
    reviews = tuple(
        PrbenchReview(
            trial=f"{one.instance}::{one.reviewer}",
            instance=one.instance,
            reviewer=one.reviewer,
            difficulty=one.difficulty,
            labels=(),
            counts=one.counts,
            score=score_review(one.counts, RELEASE),
            adjacent=one.adjacent,
        )
        for one in recorded
    )
    names = dict.fromkeys(review.reviewer for review in reviews)
    return PrbenchReport(
        judge="the recorded judge",
        rule=RELEASE,
        reviewers=tuple(_reviewer(name, [one for one in reviews if one.reviewer == name], RELEASE) for name in names),
        reviews=reviews,
        findings=(),
    )


def recorded_lines(recorded: Sequence[RecordedScore], found: PrbenchReport) -> Iterator[str]:
    """Yield whether recorded scores follow from their counts, with the first that does not."""
    pairs = [(own, review.score.overall) for own, review in zip(recorded, found.reviews, strict=True)]
    other = [(own, score) for own, score in pairs if abs(own.overall - score) > _SAME]
    yield f"{len(pairs) - len(other)} of {len(pairs)} recorded scores follow from their counts by the release's rule"
    for own, score in other[:1]:
        yield f"  {one_line(own.instance)}: recorded {own.overall:.6f}, its counts give {score:.6f}"


#: Scores that differ by less are the same.
_SAME = 1e-9


def _why_not(trial: Trial, cells: Mapping[TrialId, Mapping[AskedPair, VotedLabel]]) -> str | None:
    """Return the reason for which a trial cannot be scored; None if it can, as 0 where its answer was unreadable."""
    if trial.review is None:
        return None if trial.status == Status.BAD_OUTPUT else "there is no review"
    if trial.review.count:
        return "the findings are not on record"
    if trial.id not in cells:
        return "the pull request is not on record"
    own = cells[trial.id].values()
    if len(own) < len(trial.review.findings) * len(trial.comments):
        return "a comment is not on record"
    return next((voted.reason for voted in own if voted.label is None and not voted.unreadable), None)


def _review(
    trial: Trial,
    read: Callable[[str], Subject | None],
    cells: Mapping[AskedPair, VotedLabel],
    similar: Similarity,
    rule: str,
) -> PrbenchReview:
    labels: tuple[str, ...] = ()
    counts, outside = ReviewCounts(human=len(trial.comments), unreadable=True), 0
    difficulty = next((one.labels["difficulty"] for one in trial.comments if "difficulty" in one.labels), "")
    if trial.review is not None:
        subject = read(trial.instance)
        texts = {} if subject is None else {comment.id: comment.body for comment in subject.comments}
        humans = [(texts.get(one.id, ""), Place(path=one.path, lines=one.lines)) for one in trial.comments]
        order = {comment.id: at for at, comment in enumerate(trial.comments)}
        findings = [
            _label_finding(finding, {order[comment]: vote for (number, comment), vote in cells.items() if number == at})
            for at, finding in enumerate(trial.review.findings)
        ]
        matched = match_review(findings, humans, similar, rule)
        counts, labels = matched.counts, matched.labels
        added = set() if subject is None else set().union(*changed_lines(subject.diff).values())
        outside = sum(one.start is not None and one.start not in added for one in trial.review.findings)
    return PrbenchReview(
        trial=str(trial.id),
        instance=trial.instance,
        reviewer=trial.reviewer,
        difficulty=difficulty,
        labels=labels,
        counts=counts,
        score=score_review(counts, rule),
        adjacent=adjacent_detection(outside, counts.agent, difficulty, rule),
    )


def _label_finding(finding: Finding, cells: Mapping[int, VotedLabel]) -> LabelledFinding:
    """Return a finding with its label; answers that cannot be read make it plausible, of middling actionability."""
    label = label_of_finding([voted for voted in cells.values() if voted.label is not None], LABELS) or PLAUSIBLE
    ratings = [voted.actionability for voted in cells.values() if voted.label == label]
    known = [rating for rating in ratings if rating is not None]
    return LabelledFinding(
        text=finding.body if finding.title is None else f"{finding.title}\n{finding.body}",
        place=Place(path=finding.path, lines=finding.lines),
        label=label,
        matched=tuple(at for at, voted in cells.items() if voted.label == CONFIRMED),
        actionability=sum(known) / len(known) if known else MIDDLE_ACTIONABILITY,
        unreadable=any(voted.unreadable for voted in cells.values()),
    )


def _findings(trial: Trial, cells: Mapping[AskedPair, VotedLabel]) -> Iterator[JudgedFinding]:
    for at in range(0 if trial.review is None else len(trial.review.findings)):
        own = [voted for (number, _), voted in cells.items() if number == at]
        label = label_of_finding(own, LABELS)
        reason = next((voted.reason for voted in own if voted.label == label), "it was not asked about")
        yield JudgedFinding(trial=str(trial.id), finding=at, label=label, reason=reason)


def _reviewer(name: str, reviews: Sequence[PrbenchReview], rule: str) -> PrbenchReviewer:
    def summary(some: Sequence[PrbenchReview]) -> ScoreSummary:
        return summarise_scores([review.score for review in some], [review.instance for review in some], rule)

    difficulties = sorted({review.difficulty for review in reviews if review.difficulty})
    return PrbenchReviewer(
        reviewer=name,
        summary=summary(reviews),
        by_difficulty={
            one: summary([review for review in reviews if review.difficulty == one]) for one in difficulties
        },
        adjacent_detection=fmean(review.adjacent for review in reviews),
        silent=sum(not review.counts.agent and not review.counts.unreadable for review in reviews),
        unreadable=sum(review.counts.unreadable for review in reviews),
        fallbacks=sum(review.counts.fallback for review in reviews),
    )
