"""Trial records for tests, made of verdicts on comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_crab import serialization
from pytest_crab.types import (
    PASS_TO_PASS,
    CommentResult,
    Judgement,
    PartResult,
    Reason,
    Score,
    ScoredComment,
    TestOutcome,
    Trial,
    Unit,
    verdict_score,
)

_SCORER = "oracles"


def comment_result(
    comment: str,
    reason: Reason,
    *,
    category: str = "functional",
    kind: str = "behavioral",
    detail: str | None = None,
    tests: Sequence[TestOutcome] = (),
    guards: Sequence[str] | None = None,
    parts: Sequence[PartResult] = (),
    **place: Any,
) -> CommentResult:
    """Return a verdict of the scorer ``oracles`` on a comment; ``place`` are further fields of its ScoredComment.

    ``guards`` are the tests that passed at head too; None: the roles are not on record. ``parts`` are the oracle's.
    """
    labels = {"category": str(category), "kind": str(kind), **place.pop("labels", {})}
    evidence: dict[str, Any] = {"tests": serialization.dump(tests)} if tests else {}
    if parts:
        evidence["parts"] = serialization.dump(parts)
    if guards is not None:
        evidence["guards"] = list(guards)
    score = verdict_score(_SCORER, comment, Judgement(reason=reason, detail=detail), evidence)
    return CommentResult(ScoredComment(id=comment, labels=labels, **place), score)


def trial_of(results: Iterable[CommentResult], *, regressions: bool | None = None, **fields: Any) -> Trial:
    """Return a trial with these results; ``regressions`` is the result of pass_to_pass, ``fields`` are other fields."""
    own = tuple(results)
    scores = [one.score for one in own]
    if regressions is not None:
        reason = Reason.FAILED if regressions else Reason.GREEN
        label, value = ("broken", 1.0) if regressions else ("intact", 0.0)
        scores.append(
            Score(scorer=_SCORER, unit=Unit.TRIAL, subject=PASS_TO_PASS, label=label, value=value, reason=reason)
        )
    return Trial(comments=tuple(one.place for one in own), scores=tuple(scores), **fields)
