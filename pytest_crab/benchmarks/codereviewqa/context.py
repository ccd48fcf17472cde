"""An answerer of a run, and the context in which it is asked the probes of one instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pytest_crab.adapters import AdapterSpec
from pytest_crab.benchmarks.codereviewqa.choices.agent_answers import AgentAnswerer
from pytest_crab.benchmarks.codereviewqa.choices.answers import Answerer
from pytest_crab.errors import AgentError
from pytest_crab.lazy import lazy
from pytest_crab.protocols import Agent
from pytest_crab.trial.context import StepContext
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAnswerer:
    """An answerer by its name in a run."""

    name: str
    spec: AdapterSpec
    adapter: Any
    #: Whether it is a coding agent, which runs code.
    is_agent: bool

    @property
    def asker(self) -> tuple[str, str, object]:
        """The word for its kind, its name and its adapter, for checks of the models that it asks."""
        return "answerer", self.name, self.adapter


class ProbeContext(StepContext):
    """The context of one answerer on one instance."""

    def __init__(
        self,
        instance: Instance,
        named: NamedAnswerer,
        run_context: RunContext,
        notice: Callable[[str], None] = lambda _step: None,
        repeat: int = 1,
    ) -> None:
        super().__init__(instance, named.name, run_context, notice, repeat)
        self._named = named

    @lazy
    def answerer(self) -> Answerer:
        """The answerer, bound to the instance if it is privileged."""
        adapter = self._named.adapter
        if not self._named.is_agent:
            bind = getattr(adapter, "bind", None)
            return cast("Answerer", bind(self.instance) if bind else adapter)
        agent = cast("Agent", adapter)
        return AgentAnswerer(agent, lambda: self.pull_request, lambda: self.snapshot, lambda: self.checkout(AgentError))

    @lazy
    def answerer_identity(self) -> Mapping[str, Any]:
        """Everything that decides the answerer's answers, for a step's key."""
        spec = self._named.spec
        return {**self.contestant_identity("answerer", self.answerer.identity(), spec), "path": spec.path}
