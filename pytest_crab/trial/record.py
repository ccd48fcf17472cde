"""The parts of a trial's record that do not depend on its steps, and the records of trials that did not take place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crab.scoring.protocols import Scorer
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.run_context import versions_here
from pytest_crab.types import (
    NO_RUNTIME,
    Instance,
    Judgement,
    Reason,
    Score,
    ScoredComment,
    Trial,
    Unit,
    verdict_score,
)


def unmeasured_trial(
    instance: Instance,
    crew: Crew,
    reason: Reason,
    sentence: str,
    *,
    repeat: int = 1,
    shard: str | None = None,
) -> Trial:
    """The record of a trial that did not take place: no comment has a label, all for this reason."""
    scorers = crew.scorers_for(instance)
    return Trial(
        **identity_fields(instance, crew, repeat),
        runtime=NO_RUNTIME,
        comments=scored_comments(instance, {}, {}),
        scores=missing_scores(scorers, instance, (), Judgement(reason=reason, detail=sentence)),
        error=sentence,
        versions=versions_here(shard),
    )


def identity_fields(instance: Instance, crew: Crew, repeat: int) -> dict[str, Any]:
    """Return the fields of a record that say which trial it is, and of what kind."""
    return {
        "instance": instance.id,
        "repo": instance.repo,
        "provenance": instance.provenance,
        "language": instance.language,
        "reviewer": crew.spec.reviewer,
        "agent": crew.spec.agent,
        "repeat": repeat,
        "privileged": crew.privileged,
        "leaky": crew.leaky,
        "simulated": crew.simulated,
        "variant": crew.spec.variant,
        "clean": instance.clean,
        "review_by": crew.spec.review_by,
        "review_number": None if crew.spec.reviews is None else crew.spec.review_number(repeat),
    }


def scored_comments(
    instance: Instance,
    resolvable: Mapping[str, bool],
    oracle_facts: Mapping[str, Mapping[str, Any]],
) -> tuple[ScoredComment, ...]:
    """Return the instance's comments."""
    return tuple(
        ScoredComment(
            id=comment.id,
            path=comment.path,
            lines=comment.lines,
            side=comment.side,
            labels=comment.dimensions,
            resolvable=resolvable.get(comment.id),
            **oracle_facts.get(comment.id, {}),
        )
        for comment in instance.comments
    )


def missing_scores(
    scorers: Sequence[Scorer], instance: Instance, scores: Sequence[Score], judgement: Judgement
) -> tuple[Score, ...]:
    """Return a score without a label, for this reason, of each comment that these scorers have not scored yet."""
    done = {(score.scorer, score.subject) for score in scores if score.unit is Unit.COMMENT}
    return tuple(
        verdict_score(scorer.name, comment.id, judgement)
        for scorer in scorers
        for comment in scorer.comments(instance)
        if (scorer.name, comment.id) not in done
    )
