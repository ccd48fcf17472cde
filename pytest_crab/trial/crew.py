"""The crew of a trial, its reviewer and agent: plain specs that any process can build, and the adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from pytest_crab.adapters import AdapterSpec, leaky, privileged
from pytest_crab.agents import AGENTS
from pytest_crab.clients.known import KINDS
from pytest_crab.protocols import Agent, PrivilegedAgent, PrivilegedReviewer, Reviewer
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.scoring import ScorerSpec, build_scorers, default_specs
from pytest_crab.scoring.judges.scorer import JudgeScorer
from pytest_crab.scoring.protocols import Scorer
from pytest_crab.types import CONTROL, PLACEBO, Instance, TrialId

#: Adapters of this package that run programs of others, or commands that a model makes up.
_FOREIGN = ("command", "tool-loop", *KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewSpec:
    """One reviewer with the agent that acts on its findings, by name; plain JSON."""

    #: The name in reports, which names both where several agents act on its reviews.
    reviewer: str
    reviewer_spec: AdapterSpec
    agent: str
    agent_spec: AdapterSpec
    #: Whether the reviewer is there to say nothing; its agent runs all the same.
    control: bool = False
    #: The number of the review's findings that the agent gets; None: all.
    first: int | None = None
    #: None for a contestant (see types.VARIANTS).
    variant: str | None = None
    #: The judges of its trials; the first one that applies to an instance decides the outcome.
    scorers: tuple[ScorerSpec, ...] = field(default_factory=default_specs)
    #: The reviewer's own name where several agents act on its reviews.
    review_by: str | None = None
    #: The number of reviews that are made of an instance where further repeats act on these again; None: each repeat
    #: has its own.
    reviews: int | None = None

    @property
    def name(self) -> str:
        """The name of its trials."""
        return self.reviewer

    @property
    def title(self) -> str:
        """The words for it in sentences."""
        return f"{self.review_name} with {self.agent}"

    @property
    def review_name(self) -> str:
        """The reviewer's own name."""
        return self.review_by or self.reviewer

    @property
    def adapters(self) -> dict[str, AdapterSpec]:
        """The specs of all adapters, each under a name that is a path: reviewer, agent, and judges/NAME."""
        judges = {f"judges/{scorer.name}": scorer.judge for scorer in self.scorers if scorer.judge is not None}
        return {"reviewer": self.reviewer_spec, "agent": self.agent_spec, **judges}

    def with_adapters(self, adapters: Mapping[str, AdapterSpec]) -> CrewSpec:
        """Return the same crew with these specs in the place of its ``adapters``."""
        scorers = (replace(scorer, judge=adapters.get(f"judges/{scorer.name}")) for scorer in self.scorers)
        reviewer, agent = adapters["reviewer"], adapters["agent"]
        return replace(self, reviewer_spec=reviewer, agent_spec=agent, scorers=tuple(scorers))

    def review_number(self, repeat: int) -> int:
        """Return the number of the review that a repeat acts on."""
        return repeat if self.reviews is None else (repeat - 1) % self.reviews + 1

    def review_id(self, instance: str, repeat: int) -> TrialId:
        """Return the name of the review that a repeat acts on: trials with the same one share it."""
        return TrialId(instance, self.review_name, self.review_number(repeat))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """A crew at work: adapters are built once in a process and bound to an instance where they must be."""

    spec: CrewSpec
    reviewer: Reviewer | PrivilegedReviewer
    agent: Agent | PrivilegedAgent
    scorers: tuple[Scorer, ...] = field(default_factory=lambda: build_scorers(default_specs()))

    @classmethod
    def build(cls, spec: CrewSpec, *, reviewer_at: str | None = None, agent_at: str | None = None) -> Crew:
        """Build both adapters and the scorers. Raises BadInput with every fault of their settings.

        ``reviewer_at`` and ``agent_at`` are the places that errors name; None: their entries in crab.yaml.
        """
        return cls(
            spec=spec,
            reviewer=REVIEWERS.build(spec.reviewer_spec, reviewer_at or REVIEWERS.where(spec.reviewer)),
            agent=AGENTS.build(spec.agent_spec, agent_at or AGENTS.where(spec.agent)),
            scorers=build_scorers(spec.scorers),
        )

    @property
    def judges(self) -> tuple[JudgeScorer, ...]:
        """The judges among its scorers."""
        return tuple(scorer for scorer in self.scorers if isinstance(scorer, JudgeScorer))

    @property
    def askers(self) -> tuple[tuple[str, str, object], ...]:
        """All that may ask a model in a trial, as what it is, its name and its adapter."""
        judges = (("judge", judge.name, judge.judge) for judge in self.judges)
        return ("reviewer", self.spec.reviewer, self.reviewer), ("agent", self.spec.agent, self.agent), *judges

    def scorers_for(self, instance: Instance) -> tuple[Scorer, ...]:
        """The scorers that can score something of this instance; none where its reviews are only collected."""
        return tuple(scorer for scorer in self.scorers if scorer.comments(instance))

    @property
    def free(self) -> bool:
        """True if no step of its trials costs anything, since adapters of these kinds ask no model.

        A command that has no key is none of them: it may report a cost.
        """
        return all(getattr(type(adapter), "free", False) is True for _, _, adapter in self.askers)

    @property
    def privileged(self) -> tuple[str, ...]:
        """The names of those that are shown the answer."""
        return (
            *([self.spec.reviewer] if self.privileged_reviewer else []),
            *([self.spec.agent] if self.privileged_agent else []),
        )

    @property
    def leaky(self) -> tuple[str, ...]:
        """The names of those that work on the public pull request, whose discussion they can read."""
        pairs = ((self.spec.reviewer, self.reviewer), (self.spec.agent, self.agent))
        return tuple(name for name, adapter in pairs if leaky(adapter))

    @property
    def privileged_reviewer(self) -> bool:
        """True if the reviewer sees the answer, of which a control and a placebo have nothing."""
        return self.spec.variant not in (CONTROL, PLACEBO) and privileged(self.reviewer)

    @property
    def reviewer_label(self) -> str:
        """The word that reports put beside the reviewer's name: privileged, leaky or nothing."""
        return "privileged" if self.privileged_reviewer else "leaky" if leaky(self.reviewer) else ""

    @property
    def privileged_agent(self) -> bool:
        """True if the agent sees the answer."""
        return privileged(self.agent)

    @property
    def built_in(self) -> bool:
        """True if reviewer and agent are code of this package that runs no other code."""
        specs = (self.spec.reviewer_spec.path, self.spec.agent_spec.path)
        members = (member for family in (REVIEWERS, AGENTS) for member in family.members.items())
        own = {path for name, path in members if name not in _FOREIGN}
        return own.issuperset(specs)

    @property
    def simulated(self) -> bool:
        """True if the agent says that it understands no finding and only looks at locations."""
        return bool(getattr(self.agent, "simulated", False))

    def reviewer_for(self, instance: Instance) -> Reviewer:
        """The reviewer, bound if it is privileged or leaky."""
        bind = getattr(self.reviewer, "bind", None)
        return cast("Reviewer", bind(instance) if bind else self.reviewer)

    def agent_for(self, instance: Instance) -> Agent:
        """The agent, bound if it is privileged or leaky."""
        bind = getattr(self.agent, "bind", None)
        return cast("Agent", bind(instance) if bind else self.agent)
