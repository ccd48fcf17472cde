"""The stored reviews of a report, for matching with the known comments of their pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.instances.pull_requests import Subject, read_subject
from pytest_crab.results.files import read_trials
from pytest_crab.results.rulers import reviews_of
from pytest_crab.scoring.stored_reviews import KnownComment, StoredReview
from pytest_crab.types import LANGUAGE, Trial, Unit


def stored_reviews(trials_file: Path) -> list[StoredReview]:
    """Return the reviews of a trials.jsonl whose findings are on record. Raises BadInput."""
    return list(_reviews(reviews_of(trials_file), trials_file.parent))


def count_without_review(trials_file: Path) -> int:
    """Return how many trials of contestants have no review, or one whose findings are not on record."""
    last = {trial.id: trial for trial in read_trials(trials_file)}
    return sum(trial.variant is None and (trial.review is None or bool(trial.review.count)) for trial in last.values())


def _reviews(trials: list[Trial], report: Path) -> Iterator[StoredReview]:
    for trial in trials:
        assert trial.review is not None
        if trial.review.count:
            continue
        subject = read_subject(report, trial.instance)
        yield StoredReview(
            reviewer=trial.reviewer,
            instance=trial.instance,
            repo=trial.repo,
            pull_request=serialization.digest(trial.instance) if subject is None else subject.digest,
            comments=tuple(_comments(trial, subject)),
            findings=trial.review.findings,
            diff=None if subject is None else subject.diff,
            labels=_finding_labels(trial),
        )


def _comments(trial: Trial, subject: Subject | None) -> Iterator[KnownComment]:
    texts = {} if subject is None else {comment.id: comment.body for comment in subject.comments}
    language = {} if subject is None or not subject.language else {LANGUAGE: subject.language}
    for one in trial.comments:
        yield KnownComment(
            body=texts.get(one.id),
            path=one.path,
            lines=one.lines,
            side=one.side,
            labels={**language, **one.labels},
        )


def _finding_labels(trial: Trial) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for score in trial.scores:
        if score.unit is Unit.FINDING and score.label is not None:
            found.setdefault(int(score.subject), {})[score.scorer] = score.label
    return found
