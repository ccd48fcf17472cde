"""What one trial works with: its trees, its image, its clock, made when first needed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import TypeVar

from pytest_crab import plain
from pytest_crab.errors import AgentError
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.errors import ReviewerError
from pytest_crab.errors import SourceError
from pytest_crab.errors import StoreError
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Image
from pytest_crab.protocols import Snapshot
from pytest_crab.sources import drop
from pytest_crab.sources import source_for
from pytest_crab.trial.checkout import TrialCheckout
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.retries import SNAPSHOT
from pytest_crab.trial.retries import class_of
from pytest_crab.trial.world import World
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import StepRecord
from pytest_crab.waiting import FOR_A_SLOT
from pytest_crab.waiting import waits_counted

R = TypeVar("R")

#: What a trial is in before its first step.
_FIRST = "prepare"

#: The steps that are tried again as a whole, with all that they need.
INSISTED = ("proof", "review", "revision", "verdict")


@dataclass
class Step:
    """One step under way; ``reused`` says that the store had all of it, ``again`` why runs in it were made again.

    ``deadline`` is how many seconds its reviewer or agent has.
    """

    name: str
    reused: bool = False
    again: list[str] = field(default_factory=list)
    deadline: float | None = None


class Stage:
    """The surroundings of one trial; nothing is fetched or built before it is asked for."""

    def __init__(self, instance: Instance, crew: Crew, world: World, notice: Callable[[str], None]) -> None:
        self.instance = instance
        self.crew = crew
        self.world = world
        self.records: list[StepRecord] = []
        self.facts: dict[str, Any] = {}
        self.step = _FIRST
        self.failed: list[str] = []
        #: The keys of the transcripts that were kept.
        self.transcripts: list[str] = []
        #: US dollars: what those steps have cost that come from the store.
        self.spent = 0.0
        self._notice = notice

    @lazy
    def snapshot(self) -> Snapshot:
        """The instance's trees. Raises SourceUnreachable or SourceError."""
        with self.doing("fetch"):
            return source_for(self.instance).fetch(self.instance, self.world.cache)

    @lazy
    def environment(self) -> Mapping[str, Any]:
        """What decides the image and how it is run."""
        return self.world.runtime.identity(self.instance, self._commits)

    @lazy
    def image(self) -> Image:
        """The image, found or built. Raises ImageError, EngineError."""
        with self.doing("image") as step:
            image = self.world.runtime.prepare(self.instance, self.snapshot, self._commits)
            step.reused = not image.facts.get("built", False)
        self.facts["image"] = image.key
        self.facts["environment"] = {name: fact for name, fact in image.facts.items() if name != "built"}
        return image

    @lazy
    def pull_request(self) -> PullRequest:
        """What contestants are told."""
        instance, facts = self.instance, self.instance.pull_request
        pull_request = PullRequest(
            repo=instance.repo,
            language=instance.language,
            title=facts.title,
            body=facts.body,
            base=self.snapshot.base,
            head=self.snapshot.head,
            diff=self.snapshot.pull_request_diff(),
        )
        self.world.seen(instance, pull_request)
        return pull_request

    @property
    def _commits(self) -> dict[str, str]:
        return {"base": self.snapshot.base, "head": self.snapshot.head}

    def checkout(self, failure: type[ReviewerError | AgentError], repeat: int = 1) -> TrialCheckout:
        """Ways to the code for one contestant in the present step; ``failure`` is its family's error."""
        if self.world.no_sandbox is not None:
            self.world.permit(self.instance, self.crew)
        spec = self.crew.spec
        trial = f"{self.instance.id}::{spec.reviewer}[{repeat}]"
        return TrialCheckout(
            self.instance,
            self.snapshot,
            self.world,
            lambda: self.image,
            failure,
            trial=trial,
            step=self.step,
            attempt=len(self.failed) + 1,
            spent=self.spent,
            note=self.transcripts.append,
        )

    def insist(self, name: str, make: Callable[[], R]) -> R:
        """Return what ``make`` returns, which does the step ``name``; what may pass is waited for, by class.

        Raises what ``make`` raised last, and Cancelled. ``failed`` then holds the classes of the attempts before.
        """
        before, self.failed = self.step, []
        while True:
            try:
                return make()
            except CrabError as error:
                kind = SNAPSHOT if self._is_damage(error) else class_of(error)
                patience = self.world.retries.get(kind) if kind is not None else None
                pause = patience.pause(self.failed.count(str(kind)) + 1) if patience is not None else None
                if kind is None or pause is None:
                    raise
            self.failed.append(kind)
            self.step = before
            self._notice(f"{name} (again after {kind})")
            if kind == SNAPSHOT:
                drop(self.instance, self.world.cache, self.snapshot)
                del self.snapshot
            if self.world.cancelled.wait(pause):
                raise Cancelled(f"the run was stopped while {name} was to be tried again")

    def _is_damage(self, error: CrabError) -> bool:
        """Whether it was what this machine keeps of the instance's trees, which can be fetched once more."""
        return isinstance(error, SourceError) and "snapshot" in vars(self) and self.snapshot.damage() is not None

    @contextlib.contextmanager
    def doing(self, name: str) -> Iterator[Step]:
        """Time a step and put it on the record; a stopped world begins none. Raises Cancelled."""
        if self.world.cancelled.is_set():
            raise Cancelled(f"the run was stopped before {name}")
        before, self.step = self.step, name
        self._notice(name)
        step = Step(name)
        start = time.monotonic()
        with waits_counted(lambda begins: self._notice(f"{name}{FOR_A_SLOT if begins else ''}")) as waited:
            yield step
        seconds = round(time.monotonic() - start - waited.seconds, 3)
        retried = (*self.failed, *step.again) if name in INSISTED else ()
        self.records.append(
            StepRecord(step=name, reused=step.reused, seconds=seconds, retried=retried, deadline=step.deadline)
        )
        self.step = before
        if before != _FIRST:
            self._notice(before)

    def remember(self, step: Step, key: str, kind: type[R], make: Callable[[], R]) -> R:
        """A record of this kind from the store, or made and kept there. Raises what ``make`` raises, and StoreError."""
        value, step.reused = self.world.remembered(step.name, key, lambda: plain.dump(make()))
        problems: list[str] = []
        record = plain.read(kind, value, problems)
        if record is None:
            raise StoreError(
                f"the stored {step.name} {key} is of another shape ({problems[0]}); run again with "
                f"--crab-fresh={step.name}, which makes it anew"
            )
        return record
