"""Stored reviews matched with known comments by place and by concern, with AACR-Bench's measures by reviewer and label.

The concern of a pair is a judge's answer (see scoring.judges.label_judges), or the equality of the texts. A finding and
a comment that are not matched are unknown where a question about them has no answer; they count neither way.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.benchmarks.aacr.match_rates import Hit, MatchMeasures, measure, measure_by
from pytest_crab.diffs import ChangedFile, Hunk, excerpt, parse_hunks
from pytest_crab.scoring.judges.bench import JudgeUse
from pytest_crab.scoring.judges.label_judges import CATEGORIES, DIFFERENT, SAME
from pytest_crab.scoring.judges.votes import Decide, Gold, JudgeQuestion, VotedLabel
from pytest_crab.scoring.location import RULES, LocationRule, Place, place_of_finding
from pytest_crab.scoring.stored_reviews import OF_PULL_REQUESTS, StoredReview

#: Compares texts instead of asking a model.
EQUAL_TEXTS = "equal-texts"

#: The dimension of the paper's categories.
CATEGORY = "category"

#: The reason of a pair's concern that cannot be compared.
_NO_TEXT = "the text of a comment is not on record"

#: The answers by the positions of a finding and a comment.
_Concerns = Mapping[tuple[int, int], VotedLabel]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerMatches:
    """The measures of one reviewer over its reviews."""

    reviewer: str
    reviews: int
    #: Pull requests without a review, whose comments count as missed.
    absent: int
    findings: int
    per_pull_request: float | None
    #: The mean number of findings for each hunk of the diffs; None where a diff is not on record.
    per_patch: float | None
    overall: MatchMeasures
    #: By dimension and label.
    by_label: Mapping[str, Mapping[str, MatchMeasures]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReport:
    """All reviewers by one rule and one judge."""

    rule: str
    #: None: concerns were not compared.
    judge: str | None
    reviewers: tuple[ReviewerMatches, ...]
    #: Pull requests without a finding, where the rule does not count these.
    dropped: int = 0
    #: Trials without a review, or whose findings are not on record; they count neither way.
    left_out: int = 0
    #: Comments on no file, which the rule cannot match; they count neither way.
    unplaced: int = 0
    #: The pairs whose concerns were to be compared.
    pairs: int = 0
    #: The reasons of pairs without an answer, counted.
    unknown: Mapping[str, int] = field(default_factory=dict)
    #: The judge that named the categories of findings; None where none did.
    categories: str | None = None
    #: Both judges as they were asked.
    judges: tuple[JudgeUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _MatchedReview:
    review: StoredReview
    patches: int | None
    findings: tuple[Hit, ...]
    comments: tuple[Hit, ...]


def concern_questions(reviews: Iterable[StoredReview], rule: str) -> Iterator[JudgeQuestion]:
    """Yield every question that ``match_reviews`` asks. Raises ValueError for a diff that is none."""
    for review in reviews:
        yield from _questions(review, RULES[rule], _hunks(review)).values()


def category_questions(reviews: Iterable[StoredReview]) -> Iterator[JudgeQuestion]:
    """Yield a question on the category of each finding. Raises ValueError for a diff that is none."""
    for review in reviews:
        yield from _category_questions(review)


def with_categories(reviews: Sequence[StoredReview], decide: Decide) -> list[StoredReview]:
    """Return the reviews with the categories of their findings that ``decide`` gives; one that has one keeps it."""
    asked = [_category_questions(review) for review in reviews]
    answers = decide(question for own in asked for question in own)
    done = []
    for review, own in zip(reviews, asked, strict=True):
        words = [answers[question.digest].label for question in own]
        named = {at: {CATEGORY: CATEGORIES[word]} for at, word in enumerate(words) if word is not None}
        labels = {at: {**named.get(at, {}), **review.labels.get(at, {})} for at in (*named, *review.labels)}
        done.append(dataclasses.replace(review, labels=labels))
    return done


def equal_texts(questions: Iterable[JudgeQuestion]) -> dict[str, VotedLabel]:
    """Decide by the texts: a finding raises the concern of a comment if it has exactly its words."""
    found = {}
    for question in questions:
        same = question.finding.body.strip() == question.gold.body.strip()
        found[question.digest] = VotedLabel(label=SAME if same else DIFFERENT, reason="the texts were compared")
    return found


def match_reviews(
    reviews: Sequence[StoredReview], rule: str, judge: str | None = None, decide: Decide | None = None
) -> MatchReport:
    """Match by the rule of this name; ``decide`` answers all questions at once. Raises what it raises, and ValueError.

    A pull request that a reviewer has several reviews of counts once for each.
    """
    chosen = RULES[rule]
    counted = [review for review in reviews if review.findings or not chosen.drops_empty]
    hunks = [_hunks(review) for review in counted]
    asked = [
        {} if decide is None else _questions(review, chosen, own) for review, own in zip(counted, hunks, strict=True)
    ]
    answers = {} if decide is None else decide(question for own in asked for question in own.values())
    matched, unknown, pairs = [], Counter[str](), 0
    for review, own, files in zip(counted, asked, hunks, strict=True):
        concerns = None
        if decide is not None:
            concerns = _textless(review, chosen) | {pair: answers[question.digest] for pair, question in own.items()}
        matched.append(_match(review, chosen, concerns, None if files is None else sum(len(own) for _, own in files)))
        pairs += len(concerns or ())
        unknown.update(answer.reason for answer in (concerns or {}).values() if answer.label is None)
    names = dict.fromkeys(review.reviewer for review in reviews)
    return MatchReport(
        rule=rule,
        judge=judge,
        reviewers=tuple(_reviewer(name, [one for one in matched if one.review.reviewer == name]) for name in names),
        dropped=len(reviews) - len(counted),
        unplaced=sum(hit.line is None for one in matched for hit in one.comments),
        pairs=pairs,
        unknown=dict(unknown.most_common()),
    )


def _hunks(review: StoredReview) -> list[tuple[ChangedFile, tuple[Hunk, ...]]] | None:
    return None if review.diff is None else list(parse_hunks(review.diff))


def _places(review: StoredReview) -> tuple[list[Place], list[Place]]:
    comments = [Place(path=each.path, lines=each.lines, side=each.side) for each in review.comments]
    return [place_of_finding(finding) for finding in review.findings or ()], comments


def _questions(
    review: StoredReview, rule: LocationRule, files: Sequence[tuple[ChangedFile, Sequence[Hunk]]] | None
) -> dict[tuple[int, int], JudgeQuestion]:
    """Return a question for each finding and comment that the rule may match by place."""
    findings, comments = _places(review)
    return {
        (at, number): JudgeQuestion(
            instance=review.instance,
            pull_request=review.pull_request,
            finding=finding,
            gold=Gold(body=comment.body, path=comment.path, lines=comment.lines, side=comment.side),
            code=excerpt(files or (), finding.path, findings[at].lines, finding.side),
        )
        for at, finding in enumerate(review.findings or ())
        for number, comment in enumerate(review.comments)
        if comment.body is not None and rule.at_place(findings[at], comments[number])
    }


def _category_questions(review: StoredReview) -> list[JudgeQuestion]:
    files = _hunks(review) or ()
    return [
        JudgeQuestion(
            instance=review.instance,
            pull_request=review.pull_request,
            finding=finding,
            gold=Gold(body=""),
            code=excerpt(files, finding.path, place_of_finding(finding).lines, finding.side),
        )
        for finding in review.findings or ()
    ]


def _textless(review: StoredReview, rule: LocationRule) -> dict[tuple[int, int], VotedLabel]:
    """Return the pairs at one place of which no question can be asked."""
    findings, comments = _places(review)
    return {
        (at, number): VotedLabel(label=None, reason=_NO_TEXT)
        for number, comment in enumerate(review.comments)
        if comment.body is None
        for at, finding in enumerate(findings)
        if rule.at_place(finding, comments[number])
    }


def _match(review: StoredReview, rule: LocationRule, concerns: _Concerns | None, patches: int | None) -> _MatchedReview:
    findings, comments = _places(review)
    known = concerns or {}

    def same(at: int, number: int) -> bool:
        return (at, number) in known and known[at, number].label == SAME

    found = rule.match(findings, comments, same)
    open_pairs = [pair for pair, answer in known.items() if answer.label is None]
    shared = {name: label for name, label in _shared_labels(review).items() if name in OF_PULL_REQUESTS}

    placed = [not rule.needs_path or comment.path is not None for comment in comments]
    comparable = any(placed) or not comments

    def hits(known: Sequence[bool], side: int, labels: Sequence[Mapping[str, str]]) -> tuple[Hit, ...]:
        line, semantic = ({pair[side] for pair in pairs} for pairs in (found.line, found.semantic))
        unknown = {pair[side] for pair in open_pairs} - semantic
        return tuple(
            Hit(
                line=at in line if has else None,
                semantic=None if concerns is None or at in unknown or not has else at in semantic,
                labels={"repo": review.repo, **shared, **labels[at]},
            )
            for at, has in enumerate(known)
        )

    return _MatchedReview(
        review=review,
        patches=patches,
        findings=hits([comparable] * len(findings), 0, [review.labels.get(at, {}) for at in range(len(findings))]),
        comments=hits(placed, 1, [comment.labels for comment in review.comments]),
    )


def _shared_labels(review: StoredReview) -> dict[str, str]:
    """Return the labels of the first comment; of those that pull requests have, every comment has the same."""
    return dict(review.comments[0].labels) if review.comments else {}


def _reviewer(name: str, matched: Sequence[_MatchedReview]) -> ReviewerMatches:
    findings = [hit for one in matched for hit in one.findings]
    comments = [hit for one in matched for hit in one.comments]
    given = [one for one in matched if one.review.findings is not None]
    patches = [one.patches for one in given]
    known = [count for count in patches if count is not None]
    return ReviewerMatches(
        reviewer=name,
        reviews=len(given),
        absent=len(matched) - len(given),
        findings=len(findings),
        per_pull_request=len(findings) / len(given) if given else None,
        per_patch=len(findings) / sum(known) if sum(known) and len(known) == len(patches) else None,
        overall=measure(findings, comments),
        by_label={
            dimension: dict(measure_by(dimension, findings, comments))
            for dimension in sorted({dimension for hit in comments for dimension in hit.labels})
        },
    )
