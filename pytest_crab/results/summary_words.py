"""The words of a summary: answerers answer probes of rows, reviewers review pull requests for comments and oracles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.types import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWords:
    """Nouns, one and many: for those that were measured, for what their rates count, and for an instance.

    Where reviewers and answerers ran, the words name both. ``reviews``: there are reviewers, so that numbers of
    comments, findings and revisions mean something; ``answers``: there are answerers.
    """

    contestant: str
    contestants: str
    counted: str
    many_counted: str
    instance: str
    instances: str
    reviews: bool
    answers: bool

    @property
    def contestant_head(self) -> str:
        """The head of a column of names."""
        return "Name" if self.reviews and self.answers else self.contestant.capitalize()

    @property
    def instance_head(self) -> str:
        """The head of a column of instances."""
        return self.instance.capitalize()


def words_of(reviewers: Sequence[ReviewerSummary]) -> SummaryWords:
    """Return the words for these."""
    kinds = dict.fromkeys(contestant_word(own.unit) for own in reviewers) or {"reviewer": None}
    counted = dict.fromkeys(own.counted for own in reviewers) or {"oracle": None}
    reviews, answers = "reviewer" in kinds, "answerer" in kinds
    instance = "instance" if reviews and answers else "row" if answers else "pull request"
    return SummaryWords(
        contestant=" or ".join(kinds),
        contestants=_plurals(kinds),
        counted=" or ".join(counted),
        many_counted=_plurals(counted),
        instance=instance,
        instances=f"{instance}s",
        reviews=reviews,
        answers=answers,
    )


def contestant_word(unit: Unit) -> str:
    """Return the word for one whose rates count verdicts on this."""
    return "answerer" if unit is Unit.PROBE else "reviewer"


def _plurals(words: Iterable[str]) -> str:
    return " and ".join(f"{word}s" for word in words)
