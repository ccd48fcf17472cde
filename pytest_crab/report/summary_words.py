"""The words of a summary: answerers answer probes of rows, reviewers review pull requests for comments and oracles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.report.reviewer_summary import ReviewerSummary
from pytest_crab.types import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWords:
    """Nouns without a plural's s: who was measured, what rates count, and what an instance is.

    ``reviews``: somebody reviewed, so that numbers of comments, findings and revisions mean something.
    """

    contestant: str
    counted: str
    instance: str
    reviews: bool

    @property
    def contestant_head(self) -> str:
        """The head of a column of names."""
        return self.contestant.capitalize()

    @property
    def instance_head(self) -> str:
        """The head of a column of instances."""
        return self.instance.capitalize()


def words_of(reviewers: Sequence[ReviewerSummary]) -> SummaryWords:
    """Return the words for these; where they count different things, these are verdicts."""
    counted = {own.counted for own in reviewers}
    if {own.unit for own in reviewers} == {Unit.PROBE}:
        return SummaryWords(contestant="answerer", counted="probe", instance="row", reviews=False)
    if not counted:
        counted = {"oracle"}
    word = next(iter(counted)) if len(counted) == 1 else "verdict"
    return SummaryWords(contestant="reviewer", counted=word, instance="pull request", reviews=True)
