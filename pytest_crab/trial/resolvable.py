"""The recorded resolvability of an instance's oracles."""

from __future__ import annotations

from collections.abc import Callable

from pytest_crab.errors import AgentError
from pytest_crab.instances.resolvability import marks_of, settings_digest
from pytest_crab.protocols import Agent
from pytest_crab.trial.context import TrialContext


def resolvable_comments(context: TrialContext, agent: Callable[[], Agent]) -> dict[str, bool]:
    """Return by comment whether this agent, with these settings, resolves it on record; others are absent.

    ``context.facts`` must have the instance's digest. Raises BadInput for a damaged file of marks.
    """
    marks = marks_of(context.instance, context.crew.spec.agent)
    if not marks:
        return {}
    spec = context.crew.spec.agent_spec
    try:
        own = settings_digest(spec.path, agent().identity(), spec.settings)
    except AgentError:  # it is on the record where the agent is asked, and only there
        return {}
    same = (own, context.facts["instance"])
    return {name: mark.resolved for name, mark in marks.items() if (mark.settings, mark.instance) == same}
