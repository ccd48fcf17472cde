"""The scorers that need a review alone, and ask no provider: location and similarity."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

from typing_extensions import override

from pytest_crab.scoring import similarity
from pytest_crab.scoring.location import RULES, Place, place_of_finding
from pytest_crab.scoring.protocols import Scorer, ScoringContext
from pytest_crab.types import (
    COMPARED,
    Artefact,
    Comment,
    Finding,
    Instance,
    Judgement,
    Reason,
    Review,
    Revision,
    Score,
    ScoredComment,
    Unit,
    verdict_score,
)

#: Why no ruler can read a review of which only the number of findings is known.
NOT_ON_RECORD = "the findings are not on record"

#: The name of the ruler by place, and the rule that it has by this name.
LOCATION, PAPER = "location", "paper"


def has_texts(review: Review) -> bool:
    """Return whether the findings of a review are on record, and not their number alone."""
    return not review.count


def has_place(comment: Comment | ScoredComment, rule: str) -> bool:
    """Return whether a rule can match a comment by place."""
    return comment.path is not None or not RULES[rule].needs_path


def match_by_place(
    findings: Sequence[Finding], comments: Sequence[Comment | ScoredComment], rule: str
) -> dict[str, int]:
    """Return the position of the finding that each comment is matched with by one of the RULES, by comment."""
    places = [Place(each.path, each.lines, each.side) for each in comments]
    found = [place_of_finding(finding) for finding in findings]
    matches = RULES[rule].match(found, places, lambda _finding, _comment: False)
    return {comments[comment].id: finding for finding, comment in matches.line}


def best_match(
    measure: Callable[[str, str], float], text: str, findings: Sequence[Finding]
) -> tuple[float, int | None]:
    """Return the highest similarity of a finding's text and the finding's position; 0 and None without findings."""
    values = [(measure(finding.body, text), -at) for at, finding in enumerate(findings)]
    value, at = max(values, default=(0.0, None))
    return value, None if at is None else -at


class ReviewRuler(Scorer):
    """The part of a scorer that is the same for all that need a review and nothing else; ``scores`` is its rule."""

    name: str
    needs = frozenset({Artefact.REVIEW})

    @override
    def score(self, context: ScoringContext, evidence: Any, review: Review, revision: Revision) -> Sequence[Score]:
        comments = self.comments(context.instance)
        if has_texts(review):
            return list(self.scores(comments, review.findings))
        lost = Judgement(reason=Reason.NOT_JUDGED, detail=NOT_ON_RECORD)
        return [verdict_score(self.name, comment.id, lost) for comment in comments]

    @override
    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        return instance.comments

    def scores(self, comments: Sequence[Comment], findings: Sequence[Finding]) -> Iterator[Score]:
        """Yield the score of each comment, by the texts and places of the findings."""
        raise NotImplementedError


class LocationScorer(ReviewRuler):
    """A comment is caught if a finding is matched with it by place (arXiv 2601.19494, appendix C.1)."""

    knows_hits = True

    def __init__(self, rule: str = PAPER) -> None:
        self.name = LOCATION if rule == PAPER else f"{LOCATION}-{rule}"
        self._rule = rule

    @property
    @override
    def version(self) -> str:
        return f"arXiv 2601.19494, {self._rule}"

    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        """Those with a place, as far as the rule needs one."""
        return tuple(comment for comment in instance.comments if has_place(comment, self._rule))

    def scores(self, comments: Sequence[Comment], findings: Sequence[Finding]) -> Iterator[Score]:
        """Yield a verdict on each comment that the rule can place."""
        matched = match_by_place(findings, comments, self._rule)
        missed = Reason.NO_HIT if findings else Reason.NO_FINDINGS
        for comment in comments:
            at = matched.get(comment.id)
            judgement = Judgement(reason=missed if at is None else Reason.HIT)
            yield verdict_score(self.name, comment.id, judgement, {} if at is None else {"finding": at})


class SimilarityScorer(ReviewRuler):
    """The best similarity of any finding to a comment, from 0 to 1; it is a number and no verdict."""

    knows_hits = False

    def __init__(self, measure: str) -> None:
        self.name = measure

    @property
    @override
    def version(self) -> str:
        library = similarity.library_of(self.name)
        return f"{library} {metadata.version(library)}"

    def scores(self, comments: Sequence[Comment], findings: Sequence[Finding]) -> Iterator[Score]:
        """Yield the highest similarity of each comment."""
        measure = similarity.measure_of(self.name)
        for comment in comments:
            value, at = best_match(measure, comment.body, findings)
            yield Score(
                scorer=self.name,
                unit=Unit.COMMENT,
                subject=comment.id,
                label=COMPARED,
                value=value,
                reason=Reason.HIT if findings else Reason.NO_FINDINGS,
                evidence={} if at is None else {"finding": at},
            )


def review_rulers() -> Mapping[str, Callable[[], LocationScorer | SimilarityScorer]]:
    """Return what makes each of these scorers, by name."""
    by_place = {LocationScorer(rule).name: functools.partial(LocationScorer, rule) for rule in RULES}
    return {**by_place, **{name: functools.partial(SimilarityScorer, name) for name in similarity.MEASURES}}
