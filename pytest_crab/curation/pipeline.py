"""The pipeline of curation: each candidate passes its stages in order, and each decision is stored.

A decision is found again by the candidate's content and the stage's identity. A run that was killed therefore goes on
where it was: a decision that is stored is not made again, and none is half-written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.curation.stages import CurationContext, NamedStage, Rejection, Stage
from pytest_crab.errors import BadInput, Cancelled, CrabError, StoreError, describe_os_error
from pytest_crab.protocols import Store
from pytest_crab.scoring.steps import Step
from pytest_crab.types import PullCandidate, StrEnum

#: The name of decisions in the store.
CURATION = "curation"

#: The reason of a candidate whose comments were all taken out.
NO_COMMENT = "no comment is left"


class Fate(StrEnum):
    """The end of a candidate in one stage; a candidate without a decision is waiting."""

    KEPT = "kept"
    REJECTED = "rejected"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDecision:
    """The decision of one stage on one candidate."""

    fate: Fate
    #: The candidate as it goes on, if it is kept.
    candidate: PullCandidate | None = None
    #: In a few words that are counted.
    reason: str = ""
    #: The numbers of this candidate, or the sentence of a failure.
    detail: str = ""
    #: The comments that this stage took out, by id, with their reasons.
    dropped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One candidate at one stage."""

    stage: str
    candidate: PullCandidate
    #: None: it waits.
    decision: StageDecision | None


class DecisionStep(Step[StageDecision]):
    """The step that asks a stage about a candidate; see scoring.steps.Step."""

    name = CURATION
    record = StageDecision

    def __init__(self, stage: Stage, candidate: PullCandidate, context: CurationContext | None = None) -> None:
        self._stage = stage
        self._candidate = candidate
        self._context = context

    @override
    def keys(self) -> Mapping[str, str]:
        return {"": _key(self._stage, self._candidate)}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, StageDecision]:
        """Ask the stage. Raises what the stage raises."""
        assert self._context is not None
        return {"": as_decision(self._candidate, self._stage.run(self._candidate, self._context))}

    def lasts(self, result: StageDecision) -> bool:
        """Return whether the decision is final; a failure of the infrastructure is not."""
        return result.fate is not Fate.FAILED


def as_decision(before: PullCandidate, result: PullCandidate | Rejection) -> StageDecision:
    """Return a stage's result as a decision; a candidate that lost its last comment is rejected."""
    if isinstance(result, Rejection):
        dropped = result.comments or {}
        return StageDecision(fate=Fate.REJECTED, reason=result.reason, detail=result.detail, dropped=dropped)
    dropped = {name: why for name, why in result.dropped.items() if name not in before.dropped}
    if dropped and not result.comments:
        detail = "; ".join(f"{name}: {why}" for name, why in dropped.items())
        return StageDecision(fate=Fate.REJECTED, reason=NO_COMMENT, detail=detail, dropped=dropped)
    return StageDecision(fate=Fate.KEPT, candidate=result, dropped=dropped)


def walk(candidate: PullCandidate, stages: Sequence[NamedStage], store: Store) -> Iterator[Passage]:
    """Yield a candidate's passage of each stage that it came to, as the store has it; runs nothing. Raises StoreError.

    The last one has no decision where the candidate waits.
    """
    for stage in stages:
        value = store.get(CURATION, _key(stage, candidate))
        decision = None if value is None else serialization.read(StageDecision, value, [])
        yield Passage(stage=stage.name, candidate=candidate, decision=decision)
        if decision is None or decision.candidate is None:
            return
        candidate = decision.candidate


def _key(stage: NamedStage, candidate: PullCandidate) -> str:
    return serialization.digest({"stage": stage.name, "identity": stage.identity(), "candidate": candidate})


def run_candidate(candidate: PullCandidate, stages: Sequence[Stage], context: CurationContext) -> PullCandidate | None:
    """Take a candidate through the stages, whose decisions are stored; return it as it left the last one.

    None where a stage rejected it, or failed.

    Raises BadInput, StoreError and Cancelled; any other failure is the candidate's, stored and tried again by the next
    run.
    """
    for stage in stages:
        if context.cache.cancelled.is_set():
            raise Cancelled("curation was stopped")
        context.notice(stage.name)
        step = DecisionStep(stage, candidate, context)
        try:
            decision = context.cache.results(step)[""]
        except (BadInput, StoreError, Cancelled):
            raise
        except (CrabError, OSError) as error:
            detail = f"this machine {describe_os_error(error)}" if isinstance(error, OSError) else str(error)
            decision = StageDecision(fate=Fate.FAILED, reason="failed", detail=detail)
            context.cache.store.put(step.name, step.keys()[""], serialization.dump(decision))
        if decision.candidate is None:
            return None
        candidate = decision.candidate
    return candidate
