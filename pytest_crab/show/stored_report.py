"""Reviews of a benchmark's release as a report of their own, so that every ruler and the page can read them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.instances.native import new_set
from pytest_crab.instances.pull_requests import Subject, SubjectComment, write_subject
from pytest_crab.results.files import write_trials
from pytest_crab.results.loading import TRIALS
from pytest_crab.results.summary import Summary
from pytest_crab.scoring.judges.calibration import CALIBRATIONS
from pytest_crab.scoring.stored_reviews import StoredReview
from pytest_crab.show.write_report import remake
from pytest_crab.types import Provenance, Review, ScoredComment, Trial

#: The runtime of trials that were not run here, and the title of a pull request whose title is not on record.
RECORDED, UNTITLED = "recorded", "(not in the release)"


def write_reviews(reviews: Iterable[StoredReview], out: Path, version: str) -> Summary:
    """Write these reviews into the new folder ``out`` as a report, and return its summary; nothing is run.

    ``version`` is that of the judges whose scores they hold: each is shown as one that was never held against people.
    Raises BadInput, OSError.
    """
    reviews = list(reviews)
    if not reviews:
        raise BadInput(str(out), ["there is no review to write"])
    with new_set(out) as aside:
        for review in {review.instance: review for review in reviews}.values():
            write_subject(aside, _subject(review))
        write_trials(aside / TRIALS, (_trial(review, version) for review in reviews))
        return remake(aside, errors_as_misses=False)


def _subject(review: StoredReview) -> Subject:
    return Subject(
        instance=review.instance,
        repo=review.repo,
        language=next((one.labels["language"] for one in review.comments if "language" in one.labels), ""),
        title=review.title or UNTITLED,
        url=review.url,
        diff=review.diff or "",
        comments=tuple(
            SubjectComment(
                id=f"c{at}", path=one.path, lines=one.lines, side=one.side, body=one.body or "", labels=one.labels
            )
            for at, one in enumerate(review.comments)
        ),
    )


def _trial(review: StoredReview, version: str) -> Trial:
    judges = dict.fromkeys(score.scorer for score in review.scores)
    return Trial(
        instance=review.instance,
        repo=review.repo,
        provenance=Provenance.GITHUB,
        reviewer=review.reviewer,
        agent="none",
        runtime=RECORDED,
        review=None if review.findings is None else Review(findings=review.findings),
        comments=tuple(
            ScoredComment(id=f"c{at}", path=one.path, lines=one.lines, side=one.side, labels=one.labels)
            for at, one in enumerate(review.comments)
        ),
        scores=review.scores,
        error="the release has no review of it" if review.findings is None else None,
        versions={"rulers": dict.fromkeys(judges, version), CALIBRATIONS: dict.fromkeys(judges)} if judges else {},
    )
