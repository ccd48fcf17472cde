"""A trial on one page: prove, review, revise, score."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_crab import diffs, serialization
from pytest_crab.errors import (
    AgentError,
    Cancelled,
    ContestantError,
    CrabError,
    DiffRejected,
    LimitSpent,
    ReviewerError,
    SourceUnreachable,
)
from pytest_crab.instances.oracle_errors import facts_of
from pytest_crab.instances.resolvability import marks_of, settings_digest
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Agent, Reviewer
from pytest_crab.scoring.oracles import Proofs
from pytest_crab.scoring.oracles.evaluation import ORACLES
from pytest_crab.scoring.oracles.explanation import explain
from pytest_crab.scoring.protocols import Scorer, ScorerEvidence
from pytest_crab.trial.attribution import Unattributed, attribute
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.record import identity_fields, missing_scores, scored_comments
from pytest_crab.trial.run_context import RunContext
from pytest_crab.trial.steps import ReviewStep, RevisionStep
from pytest_crab.types import (
    Artefact,
    Explain,
    Explanation,
    Finding,
    Instance,
    Judgement,
    Reason,
    Review,
    Revision,
    Score,
    Trial,
    Unit,
    Verdict,
    total_usage,
)
from pytest_crab.waiting import Waited, waits_counted


def run_trial(
    instance: Instance,
    crew: Crew,
    run_context: RunContext,
    *,
    repeat: int = 1,
    notice: Callable[[str], None] = lambda _step: None,
) -> Trial:
    """Measure one reviewer on one instance.

    Never raises for what the machine, the reviewer or the agent did: that is on the record as scores without a label,
    each with a reason, and as one sentence in ``error``. A source that cannot be reached gives a skipped trial. Raises
    Cancelled when the run was stopped.
    """
    run = TrialRun(TrialContext(instance, crew, run_context, notice, repeat), repeat)
    run.run()
    return run.trial()


class TrialRun:
    """One trial under way: what is known of it so far."""

    def __init__(self, context: TrialContext, repeat: int) -> None:
        self.context = context
        self.crew = context.crew
        self.repeat = repeat
        self.instance = context.instance
        self.scorers = context.crew.scorers_for(context.instance)
        self.scores: list[Score] = []
        self.review: Review | None = None
        self.revision: Revision | None = None
        self.error: str | None = None
        self.status: str | None = None
        self.attribution: dict[str, tuple[int, ...]] | None = None
        self.explanations: dict[str, Explanation] = {}
        self.skipped: str | None = None
        self.resolvable: dict[str, bool] = {}
        self.oracle_facts: dict[str, dict[str, Any]] = {}
        self._started = datetime.datetime.now(datetime.timezone.utc)
        self._clock = time.monotonic()
        self._waited = Waited(lambda _begins: None)

    @lazy
    def reviewer(self) -> Reviewer:
        """The reviewer, bound if it is privileged."""
        return self.crew.reviewer_for(self.instance)

    @lazy
    def agent(self) -> Agent:
        """The agent, bound if it is privileged."""
        return self.crew.agent_for(self.instance)

    @property
    def review_number(self) -> int:
        """The number of its review, which may be an earlier repeat's too."""
        return self.crew.spec.review_number(self.repeat)

    @property
    def revises(self) -> bool:
        """True if a scorer needs a revision."""
        return any(map(_revises, self.scorers))

    def run(self) -> None:
        """Make the steps; every failure becomes a reason for the comments that have no score yet. Raises Cancelled."""
        try:
            with waits_counted() as self._waited:
                self._run()
        except SourceUnreachable as error:
            self.skipped = str(error)
            self._assign(Judgement(reason=Reason.NOT_RUN, detail=str(error)))
        except Cancelled:
            self._assign(Judgement(reason=Reason.NOT_RUN, detail="the run was stopped"))
            raise
        except ContestantError as error:
            self.status = error.status
            self._fail(*self._blame(error))
        except CrabError as error:
            self._fail(Reason.BROKEN, f"{self.context.step} broke: {error}")
        except OSError as error:  # wherever it is met
            self._fail(Reason.BROKEN, self.context.machine_failure(error))

    def _run(self) -> None:
        evidence = self._prove()
        if self.scorers and not self._unscored():
            return
        review = self.review = self._review()
        revising = [scorer for scorer in self.scorers if _revises(scorer)]
        failure = None
        try:
            if self._unscored(revising):
                self._revise_and_score(review, revising, evidence)
        except ContestantError as error:
            failure = error
        # Judges come last, so that what they cost is never the agent's loss; there is a review, whatever the agent did.
        self._score([scorer for scorer in self.scorers if not _revises(scorer)], evidence, Revision())
        if failure is not None:
            raise failure

    def _revise_and_score(
        self, review: Review, revising: Sequence[Scorer], evidence: Mapping[str, ScorerEvidence]
    ) -> None:
        """Hand the findings to the agent, and let the scorers that need a revision score it."""
        if not review.size and not self.crew.spec.control:
            judgement = Judgement(reason=Reason.NO_FINDINGS, detail="the reviewer had nothing to say")
            self._assign(judgement, revising)
            self._explain(evidence, review, Revision())
            return
        revision = self._revise(review.findings)
        if revision.rejected is not None:
            detail = f"what the agent left is no revision: {revision.rejected}"
            self._assign(Judgement(reason=Reason.DOES_NOT_APPLY, detail=detail), revising)
            return
        self.revision = revision
        self._score(revising, evidence, revision)
        decides = self.scorers[0] is revising[0]
        self._explain(evidence, review, revision)
        named = any(commit.findings for commit in revision.commits)
        if decides and self.context.run_context.attribute and not self.crew.spec.control and not named:
            self._attribute(evidence)

    def _prove(self) -> dict[str, ScorerEvidence]:
        """Let each scorer prepare what its scores rest on, and take the scores that need no review."""
        run_context = self.context.run_context
        if run_context.unconfined:
            self.context.require_sandbox()
        self.context.facts["instance"] = serialization.digest(self.context.contents)[:16]
        self.context.facts["rulers"] = {scorer.name: scorer.version for scorer in self.scorers}
        self.resolvable = resolvable_comments(self.context, lambda: self.agent)
        self.oracle_facts = facts_of(self.instance)
        evidence = {scorer.name: scorer.prepare(self.context) for scorer in self.scorers}
        for score in itertools.chain.from_iterable(prepared.decided for prepared in evidence.values()):
            self._add_scores([score])
        return evidence

    def _review(self) -> Review:
        step = ReviewStep(self.context, self.reviewer, self.review_number)
        done = self.context.perform(step)
        review = step.finish(done[""])
        if done.reused and review.usage is not None:  # so that the limit is the same however often a run is made
            self.context.spent = review.usage.cost_usd or 0.0
        return self.first_findings(review)

    def first_findings(self, review: Review) -> Review:
        """Return the review with as many of its findings as the agent is to see, in its own order."""
        first = self.crew.spec.first
        return review if first is None else dataclasses.replace(review, findings=review.findings[:first])

    def _revise(self, findings: Sequence[Finding]) -> Revision:
        step = RevisionStep(self.context, self.agent, findings, self.repeat)
        revision = step.finish(self.context.perform(step)[""])
        if revision.rejected is not None:
            self.context.wasted.append(revision.usage)
        return revision

    def _score(self, scorers: Sequence[Scorer], evidence: Mapping[str, ScorerEvidence], revision: Revision) -> None:
        assert self.review is not None
        for scorer in scorers:
            self._add_scores(scorer.score(self.context, evidence[scorer.name], self.review, revision))

    def _explain(self, evidence: Mapping[str, ScorerEvidence], review: Review, revision: Revision) -> None:
        """Say of each verdict of oracles why, from the revision's commits; which ones, the run's settings decide."""
        proofs = evidence.get(ORACLES)
        asked = self.context.run_context.explain
        if not isinstance(proofs, Proofs) or asked is Explain.NONE:
            return
        scores = {
            score.subject: score for score in self.scores if score.scorer == ORACLES and score.unit is Unit.COMMENT
        }
        scores = {name: score for name, score in scores.items() if asked is Explain.ALL or not score.value}
        self.explanations = explain(self.context, proofs.proved, review, revision, scores)

    def _attribute(self, evidence: Mapping[str, ScorerEvidence]) -> None:
        """Score the first scorer's comments again with one finding at a time."""
        assert self.review is not None
        review, scorer = self.review, self.scorers[0]

        def alone(finding: Finding) -> Sequence[Score]:
            revision = self._revise([finding])
            if revision.rejected is not None:
                raise DiffRejected(revision.rejected)
            return scorer.score(self.context, evidence[scorer.name], review, revision)

        caught = [result.comment for result in self.trial().having(Verdict.CAUGHT)]
        try:
            self.attribution = attribute(caught, review.findings, alone)
        except Unattributed as error:
            self.error = f"attribution: {error}"

    def trial(self) -> Trial:
        """The record; scores come in the order of the scorers and of the comments."""
        subjects = [(scorer.name, comment.id) for scorer in self.scorers for comment in scorer.comments(self.instance)]
        order = {subject: place for place, subject in enumerate(subjects)}
        return Trial(
            **identity_fields(self.instance, self.crew, self.repeat),
            runtime=self.context.run_context.runtime.name,
            review=self.review,
            revision=self.revision,
            comments=scored_comments(self.instance, self.resolvable, self.oracle_facts),
            scores=tuple(sorted(self.scores, key=lambda one: order.get((one.scorer, one.subject), len(order)))),
            error=self.error,
            status=self.status,
            skipped=self.skipped,
            steps=tuple(self.context.records),
            seconds=round(time.monotonic() - self._clock - self._waited.seconds, 3),
            started=self._started.isoformat(timespec="seconds"),
            versions={**self.context.run_context.versions, **self.context.facts},
            attribution=self.attribution,
            explanations=self.explanations,
            failed=total_usage(self.context.wasted),
            scoring=dict(self.context.scoring),
            off_diff=None if self.review is None else self._off_diff(self.review),
            transcripts=tuple(self._transcripts()),
        )

    def _off_diff(self, review: Review) -> tuple[str, ...]:
        """Return the paths of those findings that name no file of the pull request's diff."""
        files = diffs.touched_paths(self.context.pull_request.diff)
        return tuple(
            finding.path for finding in review.findings if finding.path is not None and finding.path not in files
        )

    def _transcripts(self) -> Iterable[str]:
        """Return the keys of the transcripts of this trial and of its stored steps, each once."""
        review, revision = (None if step is None else step.transcript for step in (self.review, self.revision))
        here = self.context.transcripts
        first = [] if review in here else [review]
        return filter(None, dict.fromkeys([*first, *here, revision]))

    def _add_scores(self, scores: Sequence[Score]) -> None:
        self.scores.extend(scores)
        broken = (score.detail for score in scores if score.reason is Reason.BROKEN)
        self.error = self.error or next(broken, None)

    def _unscored(self, scorers: Sequence[Scorer] | None = None) -> tuple[Score, ...]:
        """A score without a label for each comment that has none of these scorers' yet; None: of all scorers."""
        own = self.scorers if scorers is None else scorers
        return missing_scores(own, self.instance, self.scores, Judgement(reason=Reason.NOT_RUN))

    def _assign(self, judgement: Judgement, scorers: Sequence[Scorer] | None = None) -> None:
        """Give this judgement to every comment that has no score of these scorers yet; None: of all scorers."""
        own = self.scorers if scorers is None else scorers
        self.scores.extend(missing_scores(own, self.instance, self.scores, judgement))

    def _fail(self, reason: Reason, sentence: str) -> None:
        self.error = sentence = self.context.with_attempts(sentence)
        self._assign(Judgement(reason=reason, detail=sentence))

    def _blame(self, error: ContestantError) -> tuple[Reason, str]:
        """Return why there is no review or no revision, and the sentence that says it."""
        if isinstance(error, LimitSpent):
            return Reason.LIMIT, f"{self.context.step}: {error}"
        if isinstance(error, ReviewerError):
            return Reason.REVIEWER_ERROR, f"reviewer {self.crew.spec.reviewer}: {error}"
        return Reason.AGENT_ERROR, f"agent {self.crew.spec.agent}: {error}"


def _revises(scorer: Scorer) -> bool:
    return Artefact.REVISION in scorer.needs


def resolvable_comments(context: TrialContext, agent: Callable[[], Agent]) -> dict[str, bool]:
    """Return by comment whether this agent, with these settings, resolves it on record; others are absent.

    ``context.facts`` must have the instance's digest. Raises BadInput for a damaged file of marks.
    """
    marks = marks_of(context.instance, context.crew.spec.agent)
    if not marks:
        return {}
    spec = context.crew.spec.agent_spec
    try:
        own = settings_digest(spec.path, agent().identity(), spec.settings)
    except AgentError:  # it is on the record where the agent is asked, and only there
        return {}
    same = (own, context.facts["instance"])
    return {name: mark.resolved for name, mark in marks.items() if (mark.settings, mark.instance) == same}
