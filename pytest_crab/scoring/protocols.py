"""The seam of scorers: what a scorer promises, and the context that it works with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pytest_crab.instances.lock import Contents
from pytest_crab.model_access import Services
from pytest_crab.protocols import Command, Completed, Image, InstallResult, Limits, Snapshot
from pytest_crab.scoring.steps import Step, StepCache, StepResults
from pytest_crab.types import Artefact, Comment, Instance, PullRequest, Review, Revision, Score, Usage

R = TypeVar("R")


@dataclass
class StepClock:
    """A step that is being timed."""

    #: Whether the store had all of it.
    reused: bool = False
    #: Why runs in it were made again.
    reruns: Sequence[str] = ()
    #: The seconds that its reviewer or agent has.
    deadline: float | None = None


class ScoringContext(Protocol):
    """The instance and the services that a scorer works with; each is fetched or built on first use."""

    instance: Instance
    #: The number of the repeat, from 1.
    repeat: int
    #: Plain data for the versions on the trial's record.
    facts: dict[str, Any]

    @property
    def snapshot(self) -> Snapshot:
        """Its trees. Raises SourceUnreachable, SourceError."""

    @property
    def environment(self) -> Mapping[str, Any]:
        """Plain data that decides the image and how it is run."""

    @property
    def image(self) -> Image:
        """The image, found or built. Raises ImageError, EngineError."""

    def book(self, scorer: str, answers: Sequence[Usage | None], *, asked: Sequence[Usage | None], judge: bool) -> None:
        """Add answers of a scorer's models to the trial's record; ``asked`` are those that the store did not have.

        ``judge``: see ScorerUsage.
        """

    def note_failed(self, used: Usage | None) -> None:
        """Add to the trial's record what an attempt has used that came to nothing; None: not known."""

    @property
    def limits(self) -> Limits:
        """The limits of an oracle's sandbox."""

    @property
    def contents(self) -> Contents:
        """The digests of all that decides the instance, whose files are read for them once. Raises BadInput."""

    @property
    def proof_runs(self) -> int:
        """The number of runs of an oracle on each state that proves it."""

    @property
    def certified_runs(self) -> int:
        """The number of runs that proved each oracle as it is by the set's lock; 0: it is to be proved in full."""

    @property
    def pull_request(self) -> PullRequest:
        """The pull request as contestants see it. Raises SourceUnreachable, SourceError."""

    @property
    def cache(self) -> StepCache:
        """The results of steps in the run's store."""

    def time_part(self, name: str) -> AbstractContextManager[StepClock]:
        """Time a part of the trial and record it. Raises Cancelled."""

    def perform(self, step: Step[R]) -> StepResults[R]:
        """The step's results: from the store, or made now and stored. Raises what the step raises, Cancelled."""

    def execute(self, commands: Sequence[Command], *, seconds: float) -> tuple[Completed, ...]:
        """Run commands beside each other in one fresh sandbox of the image. Raises EngineError, Cancelled."""

    def look_into_clone(self, argv: Sequence[str]) -> Completed | None:
        """Run a command in a clone as contestants get them; None where clones have no sandbox. Raises EngineError."""

    def services(self, step: str | None = None) -> Services:
        """Models, waiting and transcripts for ``step``, None: that under way; costs are booked on this trial."""

    def reinstall(self, tree: str) -> InstallResult:
        """Install a revised tree; what that made. Raises InstallFailed, EngineError, Cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerEvidence:
    """The result of a scorer's ``prepare`` for one trial."""

    #: The scores that need no review, such as that of a comment whose oracle is not proved.
    decided: Sequence[Score] = ()


class Scorer(Protocol):
    """Judges a trial by one rule; one object serves every trial of a process."""

    name: str
    #: The steps that a trial must have for it.
    needs: frozenset[Artefact]
    #: Whether its scores are verdicts, so that it may decide an item's outcome.
    knows_hits: bool

    @property
    def version(self) -> str:
        """Its rule and whatever else changes its scores, in a few words. Raises BadInput."""

    def comments(self, instance: Instance) -> tuple[Comment, ...]:
        """The comments of this instance that get a score."""

    def plan_steps(
        self,
        context: ScoringContext,  # noqa: ARG002 - nothing is planned
        review: Review | None,  # noqa: ARG002
        revision: Revision | None,  # noqa: ARG002
    ) -> Iterator[Step[Any]]:
        """The steps whose keys are known by what is given, and were not by less; none unless it says so."""
        return iter(())

    def prepare(self, context: ScoringContext) -> ScorerEvidence:  # noqa: ARG002 - nothing is prepared
        """Prepare what the scores rest on, if anything. Raises what keeps this machine from answering: CrabError."""
        return ScorerEvidence()

    def score(self, context: ScoringContext, evidence: Any, review: Review, revision: Revision) -> Sequence[Score]:
        """The scores of what is not decided yet. Raises as ``prepare`` does."""
