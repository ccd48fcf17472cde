"""Probes as work that a cluster can be given: an answerer as data, and the functions that a worker calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_crab.adapters import AdapterSpec
from pytest_crab.agents import AGENTS
from pytest_crab.benchmarks.codereviewqa.asking import ask_probes, unasked_record
from pytest_crab.benchmarks.codereviewqa.choices import ANSWERERS
from pytest_crab.benchmarks.codereviewqa.choices.answer_step import AnswerStep
from pytest_crab.benchmarks.codereviewqa.choices.templates import FILE
from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer
from pytest_crab.benchmarks.codereviewqa.records import ProbeReason, ProbeRecord
from pytest_crab.campaign.trial_pool import WorkKind
from pytest_crab.trial import RunContext
from pytest_crab.types import Instance

#: The name of an answerer's one adapter.
_PLACE = "answerer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswererSpec:
    """A campaign.trial_pool.ContestantSpec of an answerer, with the probes that it is asked."""

    name: str
    adapter: AdapterSpec
    is_agent: bool
    probes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The answerer."""
        return f"answerer {self.name}"

    @property
    def adapters(self) -> Mapping[str, AdapterSpec]:
        """Its one adapter."""
        return {_PLACE: self.adapter}

    def with_adapters(self, adapters: Mapping[str, AdapterSpec]) -> AnswererSpec:
        """Return the same answerer with another spec."""
        return replace(self, adapter=adapters[_PLACE])


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAnswerer:
    """A campaign.trial_pool.Contestant: an answerer and the probes that it is asked."""

    named: NamedAnswerer
    probes: tuple[str, ...]

    @property
    def spec(self) -> AnswererSpec:
        """The same as plain data."""
        named = self.named
        return AnswererSpec(name=named.name, adapter=named.spec, is_agent=named.is_agent, probes=self.probes)

    @property
    def askers(self) -> Sequence[tuple[str, str, object]]:
        """The answerer, which may ask a model."""
        return (self.named.asker,)

    @property
    def built_in(self) -> bool:
        """True of an answerer of this package."""
        return self.named.spec.path in ANSWERERS.members.values()


def build(spec: AnswererSpec) -> AskedAnswerer:
    """Build an answerer. Raises BadInput."""
    family = AGENTS if spec.is_agent else ANSWERERS
    adapter = family.build(spec.adapter, family.where(spec.name))
    named = NamedAnswerer(name=spec.name, spec=spec.adapter, adapter=adapter, is_agent=spec.is_agent)
    return AskedAnswerer(named=named, probes=spec.probes)


def perform(
    instance: Instance, asked: AskedAnswerer, run_context: RunContext, *, repeat: int, notice: Callable[[str], None]
) -> ProbeRecord:
    """Ask the probes of an instance: see ``ask_probes``."""
    return ask_probes(instance, asked.named, run_context, probes=asked.probes, repeat=repeat, notice=notice)


def broken(
    instance: Instance,
    asked: AskedAnswerer,
    sentence: str,
    *,
    repeat: int,
    shard: str | None,  # noqa: ARG001 - a record of probes has none
) -> ProbeRecord:
    """Return the record of probes that the cluster failed at."""
    name, reason = asked.named.name, ProbeReason.BROKEN
    return unasked_record(instance, name, reason, sentence, probes=asked.probes, repeat=repeat)


#: The probes of one instance for one answerer.
WORK = WorkKind(
    build=build, perform=perform, record=ProbeRecord, broken=broken, asking=(AnswerStep.name,), beside=(FILE,)
)
