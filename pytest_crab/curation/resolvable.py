"""Measure which comments an agent resolves when given the comment alone (arXiv 2603.23448, section 4.2.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.agents import AGENTS
from pytest_crab.formats import today
from pytest_crab.instances import lock
from pytest_crab.instances.resolvability import Mark, settings_digest
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import Settings
from pytest_crab.trial import Crew, CrewSpec, RunContext, run_trial
from pytest_crab.types import Comment, CommentResult, Instance, Trial, Usage, Verdict


def crew_of_humans(agent: str, settings: Settings) -> Crew:
    """Return the human comments as reviewer, with an agent of crab.yaml or a built-in one. Raises BadInput."""
    variant = settings.agents.get(agent)
    use, own = (variant.use, variant.settings) if variant else (agent, {})
    spec = AGENTS.spec(use, own, settings.folder, AGENTS.where(agent), settings.agents)
    human = REVIEWERS.spec("human", {}, settings.folder)
    return Crew.build(CrewSpec(reviewer="human", reviewer_spec=human, agent=agent, agent_spec=spec))


def why_unknown(trial: Trial, result: CommentResult) -> str:
    """Return on one line why a trial gave an oracle no verdict."""
    return " ".join((trial.error or trial.skipped or result.detail or str(result.reason)).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The result of one comment: its mark, else the problem."""

    instance: str
    comment: str
    mark: Mark | None = None
    #: Why it could not be measured.
    problem: str | None = None
    #: The usage of each attempt that was made for it now and not before.
    spent: tuple[Usage | None, ...] = ()


def measure_resolvability(
    instance: Instance,
    comments: Sequence[Comment],
    crew: Crew,
    run_context: RunContext,
    *,
    attempts: int,
    notice: Callable[[str], None],
) -> tuple[Resolution, ...]:
    """Give each comment alone to the agent, up to ``attempts`` times, and record whether its oracle turns green.

    The crew's reviewer is ``human``. A failure of the machine or of the agent gives no mark. Raises Cancelled.
    """
    digest = lock.digest(instance)[:16]
    return tuple(_measure(instance, digest, comment, crew, run_context, attempts, notice) for comment in comments)


def _measure(
    instance: Instance,
    digest: str,
    comment: Comment,
    crew: Crew,
    run_context: RunContext,
    attempts: int,
    notice: Callable[[str], None],
) -> Resolution:
    alone = dataclasses.replace(instance, comments=(comment,))
    spent: list[Usage | None] = []
    for attempt in range(1, attempts + 1):
        trial = run_trial(alone, crew, run_context, repeat=attempt, notice=notice)
        spent += _spent(trial)
        (result,) = trial.results
        if result.verdict is Verdict.UNKNOWN:
            problem = why_unknown(trial, result)
            return Resolution(instance=instance.id, comment=comment.id, problem=problem, spent=tuple(spent))
        if result.verdict is Verdict.CAUGHT:
            break
    spec, identity = crew.spec.agent_spec, crew.agent_for(instance).identity()
    resolved = result.verdict is Verdict.CAUGHT
    mark = Mark(
        resolved=resolved,
        attempts=attempt,
        settings=settings_digest(spec.path, identity, spec.settings),
        instance=digest,
        date=_day(trial),
        model=None if identity is None else identity.get("model"),
        version=trial.revision.version if trial.revision is not None else None,
        why=None if resolved else str(result.reason),
    )
    return Resolution(instance=instance.id, comment=comment.id, mark=mark, spent=tuple(spent))


def _spent(trial: Trial) -> Iterator[Usage | None]:
    """Yield the usage of the agent's attempts in a trial, without one that was stored before."""
    yield from trial.failed_usages
    if trial.revision is not None and not any(step.step == "revision" and step.reused for step in trial.steps):
        yield trial.revision.usage


def _day(trial: Trial) -> str:
    return trial.started[:10] if trial.started else today()
