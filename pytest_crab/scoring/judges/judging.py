"""Stored reviews judged finding by finding against the human comments of their pull request, as CR-Evaluator does."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.instances.pull_requests import Subject, subject_reader
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.calibration import Calibration
from pytest_crab.scoring.judges.reviews import (
    AskedPair,
    JudgedFinding,
    JudgedTrial,
    judged_trial,
    questions_of as review_questions,
)
from pytest_crab.scoring.judges.votes import Gold, JudgeQuestion
from pytest_crab.statistics.paired import kappa
from pytest_crab.statistics.signal import LABELS, JudgedReview, Signal, signal
from pytest_crab.types import Trial, TrialId, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerSignal:
    """CR-Evaluator's measures of one reviewer, over all its trials; with repeats all of them count."""

    reviewer: str
    signal: Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """All findings by one judge."""

    judge: str
    #: CR-Evaluator's measures by reviewer; none by a judge with other labels.
    reviewers: tuple[ReviewerSignal, ...]
    findings: tuple[JudgedFinding, ...]
    #: The number of findings of each label, by reviewer.
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAgreement:
    """Two judges on the cases that both labelled."""

    judges: tuple[str, str]
    #: The number of these cases.
    compared: int
    agreed: int
    kappa: float | None


def questions_of(trials: Sequence[Trial], report: Path) -> Iterator[JudgeQuestion]:
    """Yield every question that ``judge_trials`` asks. Raises BadInput."""
    for own in questions_by_trial(trials, subject_reader(report)).values():
        yield from own.values()


def judge_trials(trials: Sequence[Trial], report: Path, judge: JudgeBench) -> dict[TrialId, JudgedTrial]:
    """Judge every finding against every human comment of its pull request, all questions at once.

    Trials without the findings' texts, or whose pull request the report does not hold, are left out. Raises BadInput,
    and what the judge raises.
    """
    asked = questions_by_trial(trials, subject_reader(report))
    decisions = judge.decide(question for own in asked.values() for question in own.values())
    return {
        trial.id: judged_trial(
            str(trial.id),
            len(trial.review.findings),
            [comment.id for comment in trial.comments],
            {pair: decisions[question.digest] for pair, question in asked[trial.id].items()},
            judge.judge.labels,
        )
        for trial in trials
        if trial.review is not None and trial.id in asked
    }


def judge_report(judge: JudgeBench, trials: Sequence[Trial], judgements: Mapping[TrialId, JudgedTrial]) -> JudgeReport:
    """Return the labels that a judge gave each reviewer's findings, and CR-Evaluator's measures by its own labels."""
    judged = [trial for trial in trials if trial.id in judgements]
    findings = [finding for trial in judged for finding in judgements[trial.id].findings]
    reviewers = list(dict.fromkeys(trial.reviewer for trial in judged))
    return JudgeReport(
        judge=judge.name,
        reviewers=tuple(
            ReviewerSignal(
                reviewer=name,
                signal=signal(_review(one, judgements[one.id]) for one in judged if one.reviewer == name),
            )
            for name in reviewers
            if judge.judge.labels == LABELS
        ),
        labels={
            name: _counts(
                (found.label for one in judged if one.reviewer == name for found in judgements[one.id].findings),
                judge.judge.labels,
            )
            for name in reviewers
        },
        findings=tuple(findings),
        unknown=dict(Counter(finding.reason for finding in findings if finding.label is None).most_common()),
    )


def _counts(found: Iterable[str | None], labels: Sequence[str]) -> dict[str, int]:
    counts = Counter(found)
    return {label: counts[label] for label in labels}


def labels_of(trials: Sequence[Trial], dimension: str, labels: Sequence[str]) -> dict[tuple[str, int], str]:
    """Return the labels that people gave findings in this dimension, by trial and finding.

    Raises BadInput where there is none, and for a label that is none of ``labels``, the judge's.
    """
    found = {
        (str(trial.id), int(score.subject)): score.label.upper()
        for trial in trials
        for score in trial.scores
        if score.unit is Unit.FINDING and score.scorer == dimension and score.label is not None
    }
    wrong = dict.fromkeys(label for label in found.values() if label not in labels)
    problems = [f"{label} is no label of a judge; it should be one of {', '.join(labels)}" for label in wrong]
    if problems or not found:
        raise BadInput(
            f"labels {dimension}", problems or ["no finding of this report has one; see report --finding-labels"]
        )
    return found


def calibrate_findings(findings: Iterable[JudgedFinding], labels: Mapping[tuple[str, int], str]) -> Calibration:
    """Return how far a judge's labels agree with those by people."""
    findings = list(findings)
    own = labels_by_finding(findings)
    known = [(own[key], label) for key, label in labels.items() if key in own]
    return Calibration(
        compared=len(known),
        agreed=sum(one == other for one, other in known),
        unknown=sum((one.trial, one.finding) in labels for one in findings) - len(known),
        kappa=kappa([one for one, _ in known], [other for _, other in known]),
    )


def labels_by_finding(findings: Iterable[JudgedFinding]) -> dict[tuple[str, int], str]:
    """Return the known labels by trial and finding."""
    return {(one.trial, one.finding): one.label for one in findings if one.label is not None}


def judge_agreements(labels: Mapping[str, Mapping[Any, Any]]) -> Iterator[JudgeAgreement]:
    """Yield the agreement of each two judges that labelled the same cases; ``labels`` are by judge and case."""
    for one, other in itertools.combinations(labels, 2):
        pairs = [(labels[one][case], labels[other][case]) for case in labels[one].keys() & labels[other].keys()]
        if pairs:
            first, second = zip(*pairs, strict=True)
            agreed = sum(a == b for a, b in pairs)
            yield JudgeAgreement(judges=(one, other), compared=len(pairs), agreed=agreed, kappa=kappa(first, second))


def questions_by_trial(
    trials: Sequence[Trial], read: Callable[[str], Subject | None]
) -> dict[TrialId, dict[AskedPair, JudgeQuestion]]:
    """Return the questions on each review whose findings and pull request are on record. Raises what ``read`` does.

    ``read`` returns the subject of an instance, see ``instances.pull_requests.subject_reader``.
    """
    return {
        trial.id: dict(_questions(trial, subject))
        for trial in trials
        if trial.review is not None and not trial.review.count and (subject := read(trial.instance)) is not None
    }


def _questions(trial: Trial, subject: Subject) -> Iterator[tuple[AskedPair, JudgeQuestion]]:
    assert trial.review is not None
    own = {comment.id for comment in trial.comments}
    known = {
        each.id: Gold(body=each.body, path=each.path, lines=each.lines, side=each.side)
        for each in subject.comments
        if each.id in own
    }
    return review_questions(trial.instance, subject.digest, trial.review.findings, known, subject.diff)


def _review(trial: Trial, judgement: JudgedTrial) -> JudgedReview:
    return JudgedReview(
        findings=[finding.label for finding in judgement.findings],
        bugs=[judgement.hits[comment.id] for comment in trial.comments],
        bug_labels=[comment.labels for comment in trial.comments],
    )
