"""A judge as a scorer: inside a run it labels each finding against each human comment of the instance."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from pytest_crab import serialization
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.calibration import find_calibration
from pytest_crab.scoring.judges.reviews import Cell
from pytest_crab.scoring.judges.reviews import JudgedFinding
from pytest_crab.scoring.judges.reviews import JudgedTrial
from pytest_crab.scoring.judges.reviews import judged_trial
from pytest_crab.scoring.judges.reviews import pull_request_digest
from pytest_crab.scoring.judges.reviews import questions_of
from pytest_crab.scoring.judges.votes import Gold
from pytest_crab.scoring.judges.votes import Judge
from pytest_crab.scoring.judges.votes import JudgeQuestion
from pytest_crab.scoring.judges.votes import VotedLabel
from pytest_crab.scoring.judges.votes import VoteStep
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.protocols import Step
from pytest_crab.scoring.review_rulers import NOT_ON_RECORD
from pytest_crab.scoring.review_rulers import has_texts
from pytest_crab.scoring.unprepared import UnpreparedScorer
from pytest_crab.types import JUDGE_USAGE
from pytest_crab.types import Artefact
from pytest_crab.types import Comment
from pytest_crab.types import Instance
from pytest_crab.types import Judgement
from pytest_crab.types import Reason
from pytest_crab.types import Review
from pytest_crab.types import Revision
from pytest_crab.types import Score
from pytest_crab.types import Unit
from pytest_crab.types import total_usage
from pytest_crab.types import verdict_score


class JudgeScorer(UnpreparedScorer):
    """Asks a named judge. A comment is caught if a finding hits it; a failure to get a label is unknown."""

    unit = Unit.COMMENT
    needs = frozenset({Artefact.REVIEW, Artefact.MODEL})
    knows_hits = True

    def __init__(self, name: str, judge: Judge) -> None:
        self.name = name
        self.judge = judge

    @property
    def version(self) -> str:
        """See scoring.protocols.Scorer."""
        identity = self.judge.identity()
        votes = f", {self.judge.votes} votes" if self.judge.votes > 1 else ""
        settings = serialization.digest(identity)[:8]
        return f"{self.judge.role} of {identity.get('model', 'unknown')}{votes}, settings {settings}"

    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        """See scoring.protocols.Scorer."""
        return instance.comments

    def foresee(self, context: ScoringContext, review: Review | None, revision: Revision | None) -> Iterator[Step[Any]]:
        """See scoring.protocols.Scorer."""
        if review is not None and revision is None and has_texts(review):
            yield from self._bench(context).steps(self._questions(context, review).values())

    def score(self, context: ScoringContext, evidence: Any, review: Review, revision: Revision) -> Sequence[Score]:
        """See scoring.protocols.Scorer. Raises BadInput, StoreError, Cancelled."""
        del evidence, revision
        comments = [comment.id for comment in self.comments(context.instance)]
        if not has_texts(review):
            lost = Judgement(reason=Reason.NOT_JUDGED, detail=NOT_ON_RECORD)
            return [verdict_score(self.name, comment, lost) for comment in comments]
        questions = self._questions(context, review)
        bench = self._bench(context)
        found: Mapping[str, VotedLabel] = {}
        if questions:
            with context.timed(VoteStep.name) as clock:
                found = bench.decide(questions.values())
                clock.reused = not bench.asked
        decisions = {cell: found[question.digest] for cell, question in questions.items()}
        judged = judged_trial("", len(review.findings), comments, decisions, self.judge.labels)
        return [
            *(self._comment_score(comment, judged, decisions) for comment in comments),
            *map(self._finding_score, judged.findings),
            *([self._usage_score(context, found.values())] if found else []),
        ]

    def _bench(self, context: ScoringContext) -> JudgeBench:
        return JudgeBench(
            name=self.name,
            judge=self.judge,
            cache=context.cache,
            services=lambda _question, step: context.services(step),
        )

    def _questions(self, context: ScoringContext, review: Review) -> dict[Cell, JudgeQuestion]:
        shown = context.pull_request
        digest = pull_request_digest(shown.repo, shown.title, shown.body, shown.diff)
        known = {
            each.id: Gold(body=each.body, path=each.path, lines=each.lines, side=each.side)
            for each in self.comments(context.instance)
        }
        return dict(questions_of(context.instance.id, digest, review.findings, known, shown.diff))

    def _comment_score(self, comment: str, judged: JudgedTrial, decisions: Mapping[Cell, VotedLabel]) -> Score:
        if not judged.findings:
            return verdict_score(self.name, comment, Judgement(reason=Reason.NO_FINDINGS))
        hit, at = judged.hits[comment], judged.matched.get(comment)
        if hit is None:
            failed = next(one.reason for (_, on), one in decisions.items() if on == comment and one.label is None)
            return verdict_score(self.name, comment, Judgement(reason=Reason.NOT_JUDGED, detail=failed))
        reason = Reason.HIT if hit else Reason.NO_HIT
        said = None if at is None else decisions[at, comment].reason
        evidence = {} if at is None else {"finding": at}
        return verdict_score(self.name, comment, Judgement(reason=reason, detail=said), evidence)

    def _finding_score(self, found: JudgedFinding) -> Score:
        hit = found.label == self.judge.labels[0]
        return Score(
            scorer=self.name,
            unit=Unit.FINDING,
            subject=f"{found.finding}",
            label=found.label,
            reason=Reason.NOT_JUDGED if found.label is None else Reason.HIT if hit else Reason.NO_HIT,
            detail=found.reason,
        )

    def _usage_score(self, context: ScoringContext, decisions: Iterable[VotedLabel]) -> Score:
        calibration = find_calibration(context.cache.store, self.judge.identity())
        votes = [vote for decision in decisions for vote in decision.votes]
        used = total_usage(vote.usage for vote in votes)
        cost = None if used is None else used.cost_usd
        return Score(
            scorer=self.name,
            unit=Unit.TRIAL,
            subject=JUDGE_USAGE,
            label=None if cost is None else "known",
            value=cost,
            reason=Reason.NOT_JUDGED if cost is None else Reason.HIT,
            detail=None if cost is not None else "the cost of a vote is not known",
            evidence=serialization.dump({"votes": len(votes), "usage": used, "calibration": calibration}),
        )
