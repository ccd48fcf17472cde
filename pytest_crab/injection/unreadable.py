"""Turns BadInput of a stage into a rejection.

The file is made here, so no user can mend it, and the run goes on with the next candidate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.errors import BadInput
from pytest_crab.types import PullCandidate

S = TypeVar("S")
Decide = Callable[[S, PullCandidate, CurationContext], "PullCandidate | Rejection"]


def rejects_unreadable(decide: Decide[S]) -> Decide[S]:
    """Return a stage's method that rejects the candidate where the method would raise BadInput."""

    @functools.wraps(decide)
    def decided(stage: S, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        try:
            return decide(stage, candidate, context)
        except BadInput as error:
            return Rejection(reason="it makes no instance that can be read", detail=str(error))

    return decided
