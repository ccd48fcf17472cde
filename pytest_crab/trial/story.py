"""The story of a trial on one page: prove, review, revise, examine."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

from pytest_crab import diffs
from pytest_crab.adapters import AdapterSpec
from pytest_crab.errors import AgentError
from pytest_crab.errors import Cancelled
from pytest_crab.errors import ContestantError
from pytest_crab.errors import CrabError
from pytest_crab.errors import DiffRejected
from pytest_crab.errors import LimitSpent
from pytest_crab.errors import ReviewerError
from pytest_crab.errors import SourceUnreachable
from pytest_crab.instances import lock
from pytest_crab.instances.resolved import marks_of
from pytest_crab.instances.resolved import settings_digest
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Agent
from pytest_crab.protocols import Checkout
from pytest_crab.protocols import Reviewer
from pytest_crab.trial import keys
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.examine import examine
from pytest_crab.trial.examine import result_of
from pytest_crab.trial.prove import Proven
from pytest_crab.trial.prove import prove
from pytest_crab.trial.stage import Stage
from pytest_crab.trial.world import World
from pytest_crab.trial.world import versions_here
from pytest_crab.types import Comment
from pytest_crab.types import Finding
from pytest_crab.types import Instance
from pytest_crab.types import Judgement
from pytest_crab.types import OracleResult
from pytest_crab.types import Reason
from pytest_crab.types import Review
from pytest_crab.types import Revision
from pytest_crab.types import Trial
from pytest_crab.types import Usage
from pytest_crab.types import Verdict
from pytest_crab.types import total_usage
from pytest_crab.types.contestants import FREE
from pytest_crab.waiting import waits_counted

Made = TypeVar("Made", Review, Revision)


def run_trial(
    instance: Instance, crew: Crew, world: World, *, repeat: int = 1, notice: Callable[[str], None] = lambda _step: None
) -> Trial:
    """Measure one reviewer on one instance.

    Never raises for what the world, the reviewer or the agent did: that is on the record as unknown verdicts with a
    reason, and one sentence in ``error``. A source that cannot be reached gives a skipped trial. Raises Cancelled when
    the world was stopped.
    """
    course = Course(Stage(instance, crew, world, notice), repeat)
    try:
        with waits_counted() as waited:
            course.run()
    except SourceUnreachable as error:
        course.skipped = str(error)
        course.settle(Judgement(reason=Reason.NOT_RUN, detail=str(error)))
    except Cancelled:
        course.settle(Judgement(reason=Reason.NOT_RUN, detail="the run was stopped"))
        raise
    return course.trial(waited.seconds)


def unmeasured(
    instance: Instance,
    crew: Crew,
    reason: Reason,
    sentence: str,
    *,
    repeat: int = 1,
    runtime: str = "none",
    shard: str | None = None,
) -> Trial:
    """The record of a trial that did not take place: every oracle is unknown for this reason."""
    judgement = Judgement(reason=reason, detail=sentence)
    return Trial(
        instance=instance.id,
        repo=instance.repo,
        provenance=instance.provenance,
        reviewer=crew.spec.reviewer,
        agent=crew.spec.agent,
        runtime=runtime,
        repeat=repeat,
        privileged=crew.privileged,
        leaky=crew.leaky,
        simulated=crew.simulated,
        results=tuple(result_of(comment, judgement) for comment in instance.measured),
        error=sentence,
        versions=versions_here(shard),
        arm=crew.spec.arm,
    )


class Course:
    """One trial under way: what is known of it so far."""

    def __init__(self, stage: Stage, repeat: int) -> None:
        self.stage = stage
        self.crew = stage.crew
        self.repeat = repeat
        self.instance = stage.instance
        self.judgements: dict[str, OracleResult] = {}
        self.made: Review | None = None
        self.revision: Revision | None = None
        self.damage: bool | None = None
        self.error: str | None = None
        self.status: str | None = None
        self.attribution: dict[str, tuple[int, ...]] | None = None
        self.skipped: str | None = None
        self.resolvable: dict[str, bool] = {}
        self.wasted: list[Usage | None] = []
        self._started = datetime.datetime.now(datetime.timezone.utc)
        self._clock = time.monotonic()

    @lazy
    def reviewer(self) -> Reviewer:
        """The reviewer, bound if it is privileged."""
        return self.crew.reviewer_for(self.instance)

    @lazy
    def agent(self) -> Agent:
        """The agent, bound if it is privileged."""
        return self.crew.agent_for(self.instance)

    def run(self) -> None:
        """Go through the steps; what cannot go on is settled with its reason."""
        try:
            if self.stage.world.unconfined:
                self.stage.world.permit(self.instance, self.crew)
            self.stage.facts["instance"] = lock.digest(self.instance)[:16]
            self.resolvable = self._resolvable()
            proven = self.stage.insist("proof", lambda: prove(self.stage))
            self._settle_unproved(proven)
            if not self._open():
                return
            self.made = _first(self._review(), self.crew.spec.first)
            if not self.made.size and not self.crew.spec.control:
                self.settle(Judgement(reason=Reason.NO_FINDINGS, detail="the reviewer had nothing to say"))
                return
            try:
                self.revision = self._revise(self.made.findings)
            except DiffRejected as error:
                detail = f"what the agent left is no revision: {error}"
                self.settle(Judgement(reason=Reason.DOES_NOT_APPLY, detail=detail))
                return
            results, self.damage = self._examine(proven, self.revision)
            self.judgements.update(results)
            broken = (result.detail for result in results.values() if result.reason is Reason.BROKEN)
            self.error = self.error or next(broken, None)
            if self.stage.world.attribute and not self.crew.spec.control:
                self._attribute(proven, self.made.findings)
        except ContestantError as error:
            self.status = error.status
            self._fail(*self._blame(error))
        except (SourceUnreachable, Cancelled):
            raise
        except CrabError as error:
            self._fail(Reason.BROKEN, f"{self.stage.step} broke: {error}")
        except OSError as error:  # a disk that is full or gone, wherever it is met
            what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
            self._fail(Reason.BROKEN, f"{self.stage.step} broke: this machine failed ({what}): mend it and run again")

    def _blame(self, error: ContestantError) -> tuple[Reason, str]:
        """Why there is no review or no revision, and the sentence that says it."""
        if isinstance(error, LimitSpent):
            return Reason.LIMIT, f"{self.stage.step}: {error}"
        if isinstance(error, ReviewerError):
            return Reason.REVIEWER_ERROR, f"reviewer {self.crew.spec.reviewer}: {error}"
        return Reason.AGENT_ERROR, f"agent {self.crew.spec.agent}: {error}"

    def settle(self, judgement: Judgement) -> None:
        """Give this judgement to every oracle that has none."""
        for comment in self._open():
            self.judgements[comment.id] = result_of(comment, judgement)

    def trial(self, waited: float) -> Trial:
        """The record; of the trial's seconds so many were ``waited``."""
        instance, crew, world = self.instance, self.crew, self.stage.world
        return Trial(
            instance=instance.id,
            repo=instance.repo,
            provenance=instance.provenance,
            reviewer=crew.spec.reviewer,
            agent=crew.spec.agent,
            runtime=world.runtime.name,
            repeat=self.repeat,
            privileged=crew.privileged,
            leaky=crew.leaky,
            simulated=crew.simulated,
            review=self.made,
            revision=self.revision,
            results=tuple(
                dataclasses.replace(self.judgements[comment.id], resolvable=self.resolvable.get(comment.id))
                for comment in instance.measured
            ),
            damage=self.damage,
            error=self.error,
            status=self.status,
            skipped=self.skipped,
            steps=tuple(self.stage.records),
            seconds=round(time.monotonic() - self._clock - waited, 3),
            started=self._started.isoformat(timespec="seconds"),
            versions={**world.versions, **self.stage.facts},
            arm=crew.spec.arm,
            attribution=self.attribution,
            failed=total_usage(self.wasted),
            off_diff=None if self.made is None else self._off_diff(self.made),
            transcripts=tuple(self._transcripts()),
        )

    def _off_diff(self, review: Review) -> tuple[str, ...]:
        """The paths of those findings that name no file of the pull request's diff."""
        files = diffs.touched_paths(self.stage.pull_request.diff)
        return tuple(
            finding.path for finding in review.findings if finding.path is not None and finding.path not in files
        )

    def _transcripts(self) -> Iterable[str]:
        """The keys of what was said here, and of what comes from the store, each once."""
        review, revision = (None if step is None else step.transcript for step in (self.made, self.revision))
        here = self.stage.transcripts
        first = [] if review in here else [review]
        return filter(None, dict.fromkeys([*first, *here, revision]))

    def _open(self) -> list[Comment]:
        return [comment for comment in self.instance.measured if comment.id not in self.judgements]

    def _fail(self, reason: Reason, sentence: str) -> None:
        failed = self.stage.failed
        sentence += f" (tried {len(failed) + 1} times: {', '.join(failed)} before)" if failed else ""
        self.error = sentence
        self.settle(Judgement(reason=reason, detail=sentence))

    def _settle_unproved(self, proven: Sequence[Proven]) -> None:
        for one in proven:
            if one.proof is None:
                self.error = self.error or one.problem
                self.judgements[one.comment.id] = result_of(
                    one.comment, Judgement(reason=Reason.BROKEN, detail=one.problem)
                )

    def review_key(self) -> str:
        """What the review is stored under."""
        spec = self.crew.spec.reviewer_spec
        known = self.reviewer.identity()
        self.stage.facts["reviewer-identity"] = settings_digest(spec.path, known, spec.settings)
        identity = self._identity("reviewer", known, spec)
        return keys.review(self.stage.pull_request, spec.path, identity, self.repeat)

    def revision_key(self, findings: Sequence[Finding]) -> str:
        """What the revision that answers these findings is stored under."""
        spec = self.crew.spec.agent_spec
        known = self.agent.identity()
        self.stage.facts["agent-identity"] = settings_digest(spec.path, known, spec.settings)
        identity = self._identity("agent", known, spec)
        return keys.revision(self.stage.pull_request, findings, self.crew.spec.agent_spec.path, identity, self.repeat)

    def _review(self) -> Review:
        stage = self.stage

        def make() -> Review:
            with self._attempt(self.reviewer, ReviewerError) as checkout:
                review = self.reviewer.review(stage.pull_request, checkout)
            return dataclasses.replace(review, failed=self._take_wasted())

        def step() -> Review:
            with stage.doing("review") as step:
                step.deadline = _deadline(self.reviewer)
                review = _with_usage(stage.remember(step, self.review_key(), Review, make), self.reviewer)
            if step.reused and review.usage is not None:  # so that the limit is the same however often a run is made
                stage.spent = review.usage.cost_usd or 0.0
            return review

        return stage.insist("review", step)

    def _revise(self, findings: Sequence[Finding]) -> Revision:
        stage = self.stage

        def make() -> Revision:
            try:
                with self._attempt(self.agent, AgentError) as checkout:
                    revision = self.agent.revise(stage.pull_request, findings, checkout)
            except DiffRejected as error:  # the agent's own doing, and so not to be made again
                return Revision(rejected=str(error), usage=self._take_wasted())
            return dataclasses.replace(revision, failed=self._take_wasted())

        def step() -> Revision:
            with stage.doing("revision") as step:
                step.deadline = _deadline(self.agent)
                return _with_usage(stage.remember(step, self.revision_key(findings), Revision, make), self.agent)

        revision = stage.insist("revision", step)
        if revision.rejected is not None:
            self.wasted.append(revision.usage)
            raise DiffRejected(revision.rejected)
        return revision

    @contextlib.contextmanager
    def _attempt(self, adapter: object, failure: type[ReviewerError | AgentError]) -> Iterator[Checkout]:
        """A checkout for one attempt at a step; what one that fails has used is kept for the record."""
        checkout = self.stage.checkout(failure, self.repeat)
        try:
            yield checkout
        except (CrabError, OSError):
            self.wasted.append(checkout.used() or (FREE if _is_free(adapter) else None))
            raise

    def _take_wasted(self) -> Usage | None:
        """What failed attempts used so far, which then stands at the step that they were at."""
        used = total_usage(self.wasted)
        self.wasted.clear()
        return used

    def _examine(self, proven: Sequence[Proven], revision: Revision) -> tuple[dict[str, OracleResult], bool | None]:
        return self.stage.insist("verdict", lambda: examine(self.stage, proven, revision))

    def _resolvable(self) -> dict[str, bool]:
        """Which oracles this very agent was seen to resolve from the human comment, and which not.

        Raises BadInput for a file of marks that is something else.
        """
        marks = marks_of(self.instance, self.crew.spec.agent)
        if not marks:
            return {}
        spec = self.crew.spec.agent_spec
        try:
            own = settings_digest(spec.path, self.agent.identity(), spec.settings)
        except AgentError:  # it is on the record where the agent is asked, and only there
            return {}
        same = (own, self.stage.facts["instance"])
        return {name: mark.resolved for name, mark in marks.items() if (mark.settings, mark.instance) == same}

    def _attribute(self, proven: Sequence[Proven], findings: Sequence[Finding]) -> None:
        """Run the agent with one finding at a time, and note which of them alone led to each catch.

        An agent that fails at this, or a verdict that breaks, leaves the verdicts as they are, and the attribution
        unknown. What the agent does unasked is not taken off here: see report.burden.
        """
        caught = [name for name, result in self.judgements.items() if result.verdict is Verdict.CAUGHT]
        if not caught or len(findings) < 2:
            self.attribution = {name: tuple(range(len(findings))) for name in caught}
            return
        found: dict[str, list[int]] = {name: [] for name in caught}
        for place, finding in enumerate(findings):
            try:
                results, _ = self._examine(proven, self._revise([finding]))
            except (AgentError, DiffRejected, LimitSpent) as error:
                self.error = f"attribution: agent {self.crew.spec.agent}, finding {place + 1} alone: {error}"
                return
            for name in caught:
                if results[name].verdict is Verdict.UNKNOWN:
                    self.error = f"attribution: {name}, finding {place + 1} alone: {results[name].detail}"
                    return
                if results[name].verdict is Verdict.CAUGHT:
                    found[name].append(place)
        self.attribution = {name: tuple(places) for name, places in found.items()}

    def _identity(self, who: str, identity: Mapping[str, Any] | None, spec: AdapterSpec) -> Mapping[str, Any]:
        """What an adapter says of itself; of one that cannot say, its settings and the token of the run."""
        if identity is not None and "client" in identity:
            self.stage.facts[who] = dict(identity)
        return {"resume": self.stage.world.resume, "settings": spec.settings} if identity is None else identity


def _is_free(adapter: object) -> bool:
    """Whether a reviewer or agent asks no model unless it tells so; one that does not say does."""
    return bool(getattr(adapter, "free", False))


def _with_usage(made: Made, adapter: object) -> Made:
    """A review or revision, with the usage of nothing where its maker asks no model and told none."""
    return dataclasses.replace(made, usage=FREE) if made.usage is None and _is_free(adapter) else made


def _deadline(adapter: object) -> float | None:
    """The seconds that a reviewer or agent has for its step; None: its settings do not say."""
    seconds = getattr(adapter, "seconds", getattr(adapter, "timeout", None))
    return float(seconds) if isinstance(seconds, (int, float)) else None


def _first(review: Review, count: int | None) -> Review:
    """The review with so many of its findings, in its own order; None: all of them."""
    return review if count is None else dataclasses.replace(review, findings=review.findings[:count])
