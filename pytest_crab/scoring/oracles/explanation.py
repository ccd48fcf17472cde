"""Explanations of verdicts: oracles run again on head with some of the revision's commits, and no model is asked.

A strong review has many findings, and an agent acts on all of them. So an oracle that is red on the whole may be green
on head with the commits of the findings near its comment alone: then another finding's fix spoils it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.diffs import touched_paths
from pytest_crab.errors import DiffRejected
from pytest_crab.lazy import lazy
from pytest_crab.line_moves import LineMoves, Lines
from pytest_crab.scoring.location import Place, overlaps, place_of_finding
from pytest_crab.scoring.oracles.evaluation import EvaluationStep
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step
from pytest_crab.types import (
    Comment,
    ExplainedOutcome,
    Explanation,
    Review,
    Revision,
    RevisionCommit,
    Score,
    Side,
)

#: Numbers of commits of a series, from 0, in their order.
Picks = tuple[int, ...]

#: Of more commits for the findings near a comment it is not tried which are needed: each costs a run of the oracle.
_MOST_TRIED = 20


class _Nearness:
    """The findings near each comment, by their numbers from 1, and the commits that act on one of these.

    Near is a finding whose lines overlap the comment's (a hit by place), also on the other side of the pull request's
    diff, and one in the same file with a commit that touches the comment's lines. Each diff is read once.
    """

    def __init__(self, review: Review, revision: Revision, pull_request_diff: str) -> None:
        self._pull_request_diff = pull_request_diff
        self._places = [self._at_head(place_of_finding(finding)) for finding in review.findings]
        self._commits = [(LineMoves(commit.diff), commit.findings) for commit in revision.commits]

    @lazy
    def _to_head(self) -> LineMoves:
        """The moves of lines by the pull request, which only a place of the base needs."""
        return LineMoves(self._pull_request_diff)

    def of(self, comment: Comment) -> tuple[tuple[int, ...], Picks]:
        """Return the findings near a comment, and the commits that say that they act on one of these."""
        place = self._at_head(Place(path=comment.path, lines=comment.lines, side=comment.side))
        acted = set(self._touching(place))
        near = tuple(
            number
            for number, where in enumerate(self._places, 1)
            if overlaps(where, place) or (number in acted and where.path == place.path)
        )
        return near, tuple(at for at, (_, findings) in enumerate(self._commits) if not set(near).isdisjoint(findings))

    def _at_head(self, place: Place) -> Place:
        """Return where a place of the base lies at head; one of a file that is gone there stays as it is."""
        if place.side is not Side.LEFT or place.path is None:
            return place
        moved = self._to_head.move(place.path, place.lines)
        return place if moved is None else Place(path=moved[0], lines=moved[1], side=Side.RIGHT)

    def _touching(self, place: Place) -> Iterator[int]:
        """Yield the findings of the commits that touch a place at head, wherever earlier commits moved its lines."""
        now: tuple[str, Lines | None] | None = (place.path, place.lines) if place.path is not None else None
        for moves, findings in self._commits:
            if now is None:
                return
            if moves.touches(*now):
                yield from findings
            now = moves.move(*now)


class ExplanationStep(Step[Explanation]):
    """The step that explains the verdicts of one trial: an Explanation for each comment whose verdict is known."""

    name = "explanation"
    record = Explanation

    def __init__(
        self,
        context: ScoringContext,
        proved: Sequence[ProvedComment],
        review: Review,
        revision: Revision,
        scores: Mapping[str, Score],
        nearness: _Nearness,
        series: _Series,
    ) -> None:
        self._context = context
        self._proved = {one.comment.id: one for one in proved if one.comment.id in scores}
        self._review = review
        self._revision = revision
        self._scores = scores
        self._nearness = nearness
        self._series = series

    @override
    def keys(self) -> Mapping[str, str]:
        shared = {"commits": self._revision.commits, "diff": self._revision.diff, "findings": self._review.findings}
        return {
            name: serialization.digest(
                {**shared, "proof": one.key, "place": [one.comment.path, one.comment.lines, one.comment.side]}
            )
            for name, one in self._proved.items()
        }

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, Explanation]:
        return {subject: self._explain(self._proved[subject]) for subject in subjects}

    @override
    def lasts(self, result: Explanation) -> bool:
        return result.outcome is not ExplainedOutcome.UNCLEAR

    def without_runs(self, one: ProvedComment) -> Explanation | None:
        """Return the explanation of a comment's verdict where it needs no run of its oracle, else None."""
        near, picks = self._nearness.of(one.comment)
        caught = self._is_caught(one)
        if not near:
            outcome = ExplainedOutcome.BY_NO_FINDING if caught else ExplainedOutcome.NOT_FOUND
            return Explanation(outcome=outcome, alone=False)
        if not picks:
            return self._without_commits(near, caught=caught)
        if picks != self._series.whole or (caught and len(picks) > 1):
            return None
        return self._explain(one)

    def _explain(self, one: ProvedComment) -> Explanation:
        near, picks = self._nearness.of(one.comment)
        tried = self._series.with_needed(picks)
        alone = None if tried is None else self._is_green(one, tried)
        if tried is None or alone is None:
            return _unclear(near)
        explain = self._explain_catch if self._is_caught(one) else self._explain_miss
        return explain(one, near, picks, tried, alone=alone)

    def _is_caught(self, one: ProvedComment) -> bool:
        return bool(self._scores[one.comment.id].value)

    def _without_commits(self, near: tuple[int, ...], *, caught: bool) -> Explanation:
        """Return the explanation where no commit says that it acts on a finding near the comment."""
        commits = self._revision.commits
        if (self._revision.diff and not commits) or not all(commit.findings for commit in commits):
            detail = "the revision does not say which finding its changes are for"
            return Explanation(outcome=ExplainedOutcome.UNCLEAR, near=near, detail=detail)
        return Explanation(
            outcome=ExplainedOutcome.BY_NO_FINDING if caught else ExplainedOutcome.LEFT, near=near, alone=False
        )

    def _explain_miss(
        self, one: ProvedComment, near: tuple[int, ...], picks: Picks, tried: Picks, *, alone: bool
    ) -> Explanation:
        if not alone and tried != picks:
            return _unclear(near, "with the earlier commits that its commits build on it is red too")
        if not alone:
            return Explanation(outcome=ExplainedOutcome.NOT_RESOLVED, near=near, alone=False)
        spoiler = self._spoiler(one, tried)
        findings = () if spoiler is None else self._revision.commits[spoiler].findings
        detail = None if findings else "a change that names no finding spoils it, or several do together"
        return Explanation(outcome=ExplainedOutcome.SPOILED, near=near, alone=True, findings=findings, detail=detail)

    def _explain_catch(
        self, one: ProvedComment, near: tuple[int, ...], picks: Picks, tried: Picks, *, alone: bool
    ) -> Explanation:
        built_on = tuple(at for at in tried if at not in picks)
        if alone and built_on and self._is_green(one, built_on):
            return Explanation(outcome=ExplainedOutcome.BY_NO_FINDING, near=near, alone=False)
        if not alone:
            rest = self._is_green(one, tuple(at for at in self._series.whole if at not in picks))
            outcome = {
                None: ExplainedOutcome.UNCLEAR,
                True: ExplainedOutcome.BY_NO_FINDING,
                False: ExplainedOutcome.TOGETHER,
            }[rest]
            return Explanation(outcome=outcome, near=near, alone=False)
        if len(picks) > _MOST_TRIED:
            return _unclear(
                near, f"over {_MOST_TRIED} commits are for the findings near it, too many to try one by one"
            )
        needed = [at for at in picks if len(picks) == 1 or self._is_green(one, _without(tried, at)) is not True]
        outcome = ExplainedOutcome.TOGETHER if len(needed) > 1 else ExplainedOutcome.BY_FINDING
        named = {number for at in needed or picks for number in self._revision.commits[at].findings}
        return Explanation(outcome=outcome, near=near, alone=True, findings=tuple(sorted(named & set(near))))

    def _spoiler(self, one: ProvedComment, picks: Picks) -> int | None:
        """Return a commit that turns the oracle red, found by halving; None where the series cannot be told apart.

        The near commits are green and the whole is red, so some commit of those between turns it, whatever the others.
        """
        others = [at for at in self._series.whole if at not in picks]
        green, red = 0, len(others)  # with so many of the others
        while red - green > 1:
            half = (green + red) // 2
            seen = self._is_green(one, tuple(sorted((*picks, *others[:half]))))
            if seen is None:
                return None
            green, red = (half, red) if seen else (green, half)
        return others[red - 1]

    def _is_green(self, one: ProvedComment, picks: Picks) -> bool | None:
        """Return whether an oracle is green on head with some of the commits; None where that cannot be told."""
        if picks == self._series.whole:
            return self._is_caught(one)
        if not picks:
            return False  # head: the proof saw it red
        tree = self._series.tree(picks)
        if tree is None:
            return None
        step = EvaluationStep(self._context, [one], tree, proof_keys=None)
        value = self._context.cache.results(step)[one.comment.id].value
        return None if value is None else bool(value)


def explain(
    context: ScoringContext,
    proved: Sequence[ProvedComment],
    review: Review,
    revision: Revision,
    scores: Mapping[str, Score],
) -> dict[str, Explanation]:
    """Return the explanation of each known verdict in ``scores``, by comment.

    Raises what keeps this machine from answering: CrabError; Cancelled.
    """
    explained, step = plan_explanations(context, proved, review, revision, scores)
    return {**explained, **(context.perform(step) if step.keys() else {})}


def plan_explanations(
    context: ScoringContext,
    proved: Sequence[ProvedComment],
    review: Review,
    revision: Revision,
    scores: Mapping[str, Score],
) -> tuple[dict[str, Explanation], ExplanationStep]:
    """Return the explanations of known verdicts that need no run of an oracle, and the step of those that do."""
    known = {name: score for name, score in scores.items() if score.value is not None}
    nearness = _Nearness(review, revision, context.pull_request.diff)
    series = _Series(context, revision.commits)
    whole = ExplanationStep(context, proved, review, revision, known, nearness, series)
    found = {one.comment.id: whole.without_runs(one) for one in proved if one.comment.id in known}
    explained = {name: explanation for name, explanation in found.items() if explanation is not None}
    rest = [one for one in proved if one.comment.id in known and one.comment.id not in explained]
    return explained, ExplanationStep(context, rest, review, revision, known, nearness, series)


class _Series:
    """The trees that some of a revision's commits make of head, one after the other."""

    def __init__(self, context: ScoringContext, commits: Sequence[RevisionCommit]) -> None:
        self._context = context
        self._commits = commits
        self._trees: dict[Picks, str | None] = {}
        self.whole: Picks = tuple(range(len(commits)))

    def tree(self, picks: Picks) -> str | None:
        """Return the git id of the tree with these commits alone; None where they do not apply without the others."""
        if not picks:
            return str(self._context.snapshot.head_tree)
        if picks not in self._trees:
            before = self.tree(picks[:-1])
            self._trees[picks] = None if before is None else self._apply(self._commits[picks[-1]].diff, before)
        return self._trees[picks]

    def with_needed(self, picks: Picks) -> Picks | None:
        """Return these commits with the earlier ones that they do not apply without.

        None where these do not help, or are all others. They are found file by file: the nearest earlier commit that
        changes a file of the one that fails.
        """
        found = picks
        while found != self.whole:
            fails = next((at for number, at in enumerate(found, 1) if self.tree(found[:number]) is None), None)
            if fails is None:
                return found
            earlier = (at for at in reversed(range(fails)) if at not in found)
            more = next((at for at in earlier if not self._paths[at].isdisjoint(self._paths[fails])), None)
            if more is None:
                return None
            found = tuple(sorted((*found, more)))
        return picks if picks == self.whole else None

    @lazy
    def _paths(self) -> list[set[str]]:
        """The paths that each commit changes."""
        return [touched_paths(commit.diff) for commit in self._commits]

    def _apply(self, diff: str, onto: str) -> str | None:
        try:
            return self._context.snapshot.apply(diff, onto)
        except DiffRejected:
            return None


def _without(picks: Picks, left: int) -> Picks:
    return tuple(at for at in picks if at != left)


def _unclear(
    near: tuple[int, ...], detail: str = "the commits for the findings near it do not apply without the others"
) -> Explanation:
    return Explanation(outcome=ExplainedOutcome.UNCLEAR, near=near, detail=detail)
