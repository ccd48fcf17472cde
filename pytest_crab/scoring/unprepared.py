"""The part that is the same for all scorers that prepare nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab.scoring.protocols import Scorer, ScorerEvidence, ScoringContext, Step
from pytest_crab.types import Review, Revision, Score


@dataclass(frozen=True, slots=True)
class NothingPrepared:
    """The evidence of a scorer that prepares nothing."""

    decided: Sequence[Score] = ()


class UnpreparedScorer(Scorer):
    """Prepares nothing, and needs no step of its own unless it says so."""

    @override
    def plan_steps(
        self, context: ScoringContext, review: Review | None, revision: Revision | None
    ) -> Iterator[Step[Any]]:
        return iter(())

    @override
    def prepare(self, context: ScoringContext) -> ScorerEvidence:
        return NothingPrepared()
