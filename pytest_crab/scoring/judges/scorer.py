"""A judge as a scorer: inside a run it labels each finding against each human comment of the instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.instances.pull_requests import pull_request_digest
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.calibration import CALIBRATIONS
from pytest_crab.scoring.judges.reviews import (
    AskedPair,
    JudgedFinding,
    JudgedTrial,
    judged_trial,
    questions_of,
)
from pytest_crab.scoring.judges.votes import JUDGEMENT, Gold, Judge, JudgeQuestion, VotedLabel
from pytest_crab.scoring.protocols import Scorer, ScorerEvidence, ScoringContext
from pytest_crab.scoring.review_rulers import NOT_ON_RECORD, has_texts
from pytest_crab.scoring.steps import Step
from pytest_crab.types import (
    Artefact,
    Comment,
    Instance,
    Judgement,
    Reason,
    Review,
    Revision,
    Score,
    Unit,
    verdict_score,
)


class JudgeScorer(Scorer):
    """Asks a named judge. A comment is caught if a finding hits it; a failure to get a label is unknown."""

    needs = frozenset({Artefact.REVIEW, Artefact.MODEL})
    knows_hits = True

    def __init__(self, name: str, judge: Judge) -> None:
        self.name = name
        self.judge = judge

    @property
    @override
    def version(self) -> str:
        identity = self.judge.identity()
        votes = f", {self.judge.votes} votes" if self.judge.votes > 1 else ""
        settings = serialization.digest(identity)[:8]
        return f"{self.judge.role} of {identity.get('model', 'unknown')}{votes}, settings {settings}"

    @override
    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        return instance.comments

    @override
    def prepare(self, context: ScoringContext) -> ScorerEvidence:
        """Notes how far the judge agrees with people. Raises BadInput, StoreError."""
        known = self._bench(context).calibration
        context.facts.setdefault(CALIBRATIONS, {})[self.name] = serialization.dump(known)
        return super().prepare(context)

    @override
    def plan_steps(
        self, context: ScoringContext, review: Review | None, revision: Revision | None
    ) -> Iterator[Step[Any]]:
        if review is not None and revision is None and has_texts(review):
            yield from self._bench(context).steps(self._questions(context, review).values())

    @override
    def score(self, context: ScoringContext, evidence: Any, review: Review, revision: Revision) -> Sequence[Score]:
        """Raises BadInput, StoreError, Cancelled."""
        comments = [comment.id for comment in self.comments(context.instance)]
        if not has_texts(review):
            lost = Judgement(reason=Reason.NOT_JUDGED, detail=NOT_ON_RECORD)
            return [verdict_score(self.name, comment, lost) for comment in comments]
        questions = self._questions(context, review)
        bench = self._bench(context)
        found: Mapping[str, VotedLabel] = {}
        if questions:
            with context.time_part(JUDGEMENT) as clock:
                found = bench.decide(questions.values())
                clock.reused = not bench.asked
            votes = [vote.usage for decision in found.values() for vote in decision.votes]
            context.book(self.name, votes, asked=bench.asked, judge=True)
        decisions = {pair: found[question.digest] for pair, question in questions.items()}
        judged = judged_trial("", len(review.findings), comments, decisions, self.judge.labels)
        return [
            *(self._comment_score(comment, judged, decisions) for comment in comments),
            *map(self._finding_score, judged.findings),
        ]

    def _bench(self, context: ScoringContext) -> JudgeBench:
        return JudgeBench(
            name=self.name,
            judge=self.judge,
            cache=context.cache,
            services=lambda _instance, step: context.services(step),
        )

    def _questions(self, context: ScoringContext, review: Review) -> dict[AskedPair, JudgeQuestion]:
        shown = context.pull_request
        digest = pull_request_digest(shown.repo, shown.title, shown.body, shown.diff)
        known = {
            each.id: Gold(body=each.body, path=each.path, lines=each.lines, side=each.side)
            for each in self.comments(context.instance)
        }
        return dict(questions_of(context.instance.id, digest, review.findings, known, shown.diff))

    def _comment_score(self, comment: str, judged: JudgedTrial, decisions: Mapping[AskedPair, VotedLabel]) -> Score:
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
