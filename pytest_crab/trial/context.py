"""The context of one trial: its trees, its image and its clock, and the one way in which its steps are made."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from pytest_crab.adapters import AdapterSpec
from pytest_crab.clients.services import StepServices
from pytest_crab.errors import AgentError, Cancelled, CrabError, ReviewerError, SourceError, describe_os_error
from pytest_crab.instances.lock import Contents, content_digests
from pytest_crab.instances.resolvability import settings_digest
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Command, Completed, Image, InstallResult, Limits, Snapshot
from pytest_crab.scoring.protocols import ScoringContext, StepClock
from pytest_crab.scoring.steps import Step, StepCache, StepResults
from pytest_crab.sources import drop, fetcher_for
from pytest_crab.trial.checkout import TrialCheckout
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.retries import SNAPSHOT, class_of
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Instance, PullRequest, StepRecord, TrialId, Usage, total_usage
from pytest_crab.types.reviews import ScorerUsage, known_costs
from pytest_crab.waiting import FOR_A_SLOT, waits_counted

R = TypeVar("R")

#: The name of a trial's part before its first step.
_FIRST = "prepare"


class StepContext(ScoringContext):
    """A scoring.protocols.ScoringContext; nothing is fetched or built before it is asked for.

    ``contestant`` is the name on the ledger of whoever is measured. ``perform`` makes a step: it retries, times,
    caches and records. ``attempts`` has the failures of the step under way, by class.
    """

    def __init__(
        self,
        instance: Instance,
        contestant: str,
        run_context: RunContext,
        notice: Callable[[str], None] = lambda _step: None,
        repeat: int = 1,
    ) -> None:
        self.instance = instance
        self.contestant = contestant
        self.run_context = run_context
        self.repeat = repeat
        self.records: list[StepRecord] = []
        self.facts: dict[str, Any] = {}
        self.step = _FIRST
        self.attempts: list[str] = []
        #: What failed attempts have used that is not on a review or a revision yet.
        self.wasted: list[Usage | None] = []
        #: The keys of the transcripts that were kept.
        self.transcripts: list[str] = []
        #: US dollars: the cost of those steps that came from the store.
        self.spent = 0.0
        #: What the models of scorers have used, by scorer.
        self.scoring: dict[str, ScorerUsage] = {}
        self._notice = notice

    @lazy
    def snapshot(self) -> Snapshot:
        """The instance's trees. Raises SourceUnreachable or SourceError."""
        with self.time_part("fetch"):
            return fetcher_for(self.instance).fetch(self.instance, self.run_context.cache)

    @lazy
    def environment(self) -> Mapping[str, Any]:
        """Plain data that decides the image and how it is run."""
        return self.run_context.runtime.identity(self.instance, self._history)

    @lazy
    def image(self) -> Image:
        """The image, found or built. Raises ImageError, EngineError."""
        with self.time_part("image") as clock:
            image = self.run_context.runtime.prepare(self.instance, self.snapshot, self._history)
            clock.reused = not image.facts.get("built", False)
        self.facts["image"] = image.key
        self.facts["environment"] = {name: fact for name, fact in image.facts.items() if name != "built"}
        return image

    def discard_image(self, keep: Sequence[StepContext] = ()) -> None:
        """Remove the image if nothing else uses it, but for what it shares with those of ``keep``.

        Raises ImageError, EngineError, OSError.
        """
        kept = [(each.instance, each._history) for each in keep]  # noqa: SLF001 - of its own class
        self.run_context.runtime.discard(self.instance, self._history, kept)

    @lazy
    def pull_request(self) -> PullRequest:
        """The pull request as reviewers and agents see it."""
        instance, facts = self.instance, self.instance.pull_request
        pull_request = PullRequest(
            repo=instance.repo,
            language=instance.language,
            title=facts.title,
            body=facts.body,
            base=self.snapshot.base,
            head=self.snapshot.head,
            diff=self.snapshot.pull_request_diff(),
            base_branch=facts.base_branch,
        )
        self.run_context.seen(instance, pull_request)
        return pull_request

    @property
    def _history(self) -> dict[str, Any]:
        return {"base": self.snapshot.base, "head": self.snapshot.head, "refs": sorted(self.snapshot.refs)}

    @override
    def services(self, step: str | None = None, passed: Sequence[str] = ()) -> StepServices:
        """No transcript has the values of the variables ``passed`` either."""
        return StepServices(
            self.run_context.models,
            self.run_context.store.put,
            trial=str(TrialId(self.instance.id, self.contestant, self.repeat)),
            step=step or self.step,
            attempt=len(self.attempts) + 1,
            spent=self.spent,
            secrets=(*self.run_context.secrets, *passed),
            cancelled=self.run_context.cancelled,
            note=self.transcripts.append,
        )

    def checkout(
        self,
        failure: type[ReviewerError | AgentError],
        passed: Sequence[str] = (),
        require_sandbox: Callable[[], None] | None = None,
    ) -> TrialCheckout:
        """Ways to the code for one contestant in the present step; ``failure`` is its family's error.

        ``passed`` names the environment variables that it is given. ``require_sandbox`` is called before
        anything runs without one; it allows what the run allows if it is None.
        """
        return TrialCheckout(
            self.instance,
            self.snapshot,
            self.run_context,
            lambda: self.image,
            failure,
            self.services(passed=passed),
            require_sandbox or self.require_sandbox,
        )

    def require_sandbox(self) -> None:
        """Raise EngineError if other people's code would run on this host without a sandbox."""
        self.run_context.require_sandbox(self.instance, self.contestant)

    def contestant_identity(self, who: str, identity: Mapping[str, Any] | None, spec: AdapterSpec) -> Mapping[str, Any]:
        """Return a contestant's identity for a step's key, and note it on the record under ``who``.

        Without an identity, its settings and the run's resume token stand for it.
        """
        self.facts[f"{who}-identity"] = settings_digest(spec.path, identity, spec.settings)
        if identity is not None and "client" in identity:
            self.facts[who] = dict(identity)
        return {"resume": self.run_context.resume, "settings": spec.settings} if identity is None else identity

    @override
    def book(self, scorer: str, answers: Sequence[Usage | None], *, asked: Sequence[Usage | None], judge: bool) -> None:
        before = self.scoring.get(scorer)
        paid = [*known_costs(asked), *([] if before is None or before.paid_usd is None else [before.paid_usd])]
        self.scoring[scorer] = ScorerUsage(
            answers=len(answers) + (0 if before is None else before.answers),
            usage=total_usage(answers if before is None else (before.usage, *answers)),
            paid_usd=sum(paid) if paid else None,
            judge=judge,
        )

    @override
    def note_failed(self, used: Usage | None) -> None:
        self.wasted.append(used)

    def machine_failure(self, error: OSError) -> str:
        """Return the sentence for a failure of this machine in the step under way: a disk that is full or gone."""
        return f"{self.step} broke: this machine {describe_os_error(error)}"

    def with_attempts(self, sentence: str) -> str:
        """Return a failure's sentence with the failures before it of the step under way."""
        before = f" (tried {len(self.attempts) + 1} times: {', '.join(self.attempts)} before)" if self.attempts else ""
        return sentence + before

    def take_wasted(self) -> Usage | None:
        """Return the usage of failed attempts so far, and forget it: the caller puts it on the result of their step."""
        used = total_usage(self.wasted)
        self.wasted.clear()
        return used

    @property
    @override
    def limits(self) -> Limits:
        return self.run_context.settings.oracle_limits

    @lazy
    @override
    def contents(self) -> Contents:
        return content_digests(self.instance)

    @lazy
    @override
    def certified_runs(self) -> int:
        return self.run_context.certified_runs(self.instance, self.contents)

    @property
    @override
    def proof_runs(self) -> int:
        return 1 if self.certified_runs else self.run_context.proof_runs

    @override
    def execute(self, commands: Sequence[Command], *, seconds: float) -> tuple[Completed, ...]:
        return self.run_context.runtime.execute(self.image, commands, limits=self.limits, seconds=seconds)

    @override
    def look_into_clone(self, argv: Sequence[str]) -> Completed | None:
        asked: list[None] = []
        with self.checkout(ReviewerError, require_sandbox=lambda: asked.append(None)).clone() as clone:
            done = clone.run(argv, seconds=60)
        return None if asked else done

    @override
    def reinstall(self, tree: str) -> InstallResult:
        return self.run_context.runtime.reinstall(self.image, self.instance, self.snapshot, tree)

    @override
    def perform(self, step: Step[R]) -> StepResults[R]:
        """A failure that may pass is retried as its class in RETRIES says."""
        before, self.attempts = self.step, []
        while True:
            try:
                return self._perform_once(step)
            except CrabError as error:
                kind = SNAPSHOT if self._is_damage(error) else class_of(error)
                policy = self.run_context.retries.get(kind) if kind is not None else None
                pause = policy.pause(self.attempts.count(str(kind)) + 1) if policy is not None else None
                if kind is None or pause is None:
                    raise
            self.attempts.append(kind)
            self.step = before
            self._notice(f"{step.name} (again after {kind})")
            if kind == SNAPSHOT:
                drop(self.instance, self.run_context.cache, self.snapshot)
                del self.snapshot
            if self.run_context.cancelled.wait(pause):
                raise Cancelled(f"the run was stopped while {step.name} was to be tried again")

    @property
    @override
    def cache(self) -> StepCache:
        return StepCache(
            store=self.run_context.store,
            fresh=self.run_context.fresh,
            made=self.run_context.made,
            cancelled=self.run_context.cancelled,
        )

    def _perform_once(self, step: Step[R]) -> StepResults[R]:
        with self.time_part(step.name, step=True) as clock:
            found = self.cache.results(step)
            clock.reused, clock.deadline, clock.reruns = found.reused, step.deadline, step.reruns
        return found

    def _is_damage(self, error: CrabError) -> bool:
        """Return True if the cause is this machine's copy of the instance's trees, which can be fetched again."""
        return isinstance(error, SourceError) and "snapshot" in vars(self) and self.snapshot.damage() is not None

    @contextlib.contextmanager
    def time_part(self, name: str, *, step: bool = False) -> Iterator[StepClock]:
        """Time a part of the trial and record it; a stopped run begins none. Raises Cancelled."""
        if self.run_context.cancelled.is_set():
            raise Cancelled(f"the run was stopped before {name}")
        before, self.step = self.step, name
        self._notice(name)
        clock = StepClock()
        start = time.monotonic()
        with waits_counted(lambda begins: self._notice(f"{name}{FOR_A_SLOT if begins else ''}")) as waited:
            yield clock
        seconds = round(time.monotonic() - start - waited.seconds, 3)
        retried = (*self.attempts, *clock.reruns) if step else ()
        self.records.append(
            StepRecord(step=name, reused=clock.reused, seconds=seconds, retried=retried, deadline=clock.deadline)
        )
        self.step = before
        if before != _FIRST:
            self._notice(before)


class TrialContext(StepContext):
    """The context of one trial of a crew."""

    def __init__(
        self,
        instance: Instance,
        crew: Crew,
        run_context: RunContext,
        notice: Callable[[str], None] = lambda _step: None,
        repeat: int = 1,
    ) -> None:
        super().__init__(instance, crew.spec.reviewer, run_context, notice, repeat)
        self.crew = crew

    def require_sandbox(self) -> None:
        """The same; code of this package alone needs none on an authored instance."""
        names = f"{self.crew.spec.reviewer} and {self.crew.spec.agent}"
        self.run_context.require_sandbox(self.instance, names, built_in=self.crew.built_in)
