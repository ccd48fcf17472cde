"""Reviewers and agent of a run, from names: crab.yaml first, then hooks, then what is built in."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.adapters import AdapterSpec, Family, UnknownName
from pytest_crab.agents import AGENTS
from pytest_crab.campaign.access import provider_problems
from pytest_crab.campaign.placebo import mismatch_reviews, write_reviews
from pytest_crab.clients.installed import is_there
from pytest_crab.errors import BadInput
from pytest_crab.instances.recorded import is_recorded_name
from pytest_crab.option_table import Options
from pytest_crab.results.files import read_trials
from pytest_crab.results.loading import trials_file
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.scoring import SCORERS, ScorerSpec, default_specs
from pytest_crab.scoring.judges import JUDGES
from pytest_crab.scoring.similarity import EMBEDDING, MEASURES, is_measure, load_measures
from pytest_crab.settings import Settings, Variant
from pytest_crab.trial import Crew, CrewSpec
from pytest_crab.types import CONTROL, FIRST, PLACEBO, full_name

#: The control: a reviewer without findings, whose agent runs all the same.
NOTHING = "none"


#: The name of all measures of similarity together.
SIMILARITY = "similarity"

#: The built-in reviewers that run beside recorded revisions; all others are replayed too.
_LIVE = ("command", "human", NOTHING, "replay")


@dataclass(frozen=True, kw_only=True)
class Contestants:
    """The contestants of a run, and where they are from."""

    #: The crews by reviewer name. With several agents a crew's name is that of both, such as ``mine+codex``.
    by_reviewer: Mapping[str, Crew]
    agents: tuple[str, ...]
    agent_defaulted: bool
    #: Why these agents were chosen.
    why_agent: str
    #: The settings of crab.yaml.
    settings: Settings

    @property
    def replays(self) -> bool:
        """True if revisions are taken from the instance sets' own recordings."""
        return any("reviewer" in crew.spec.agent_spec.settings for crew in self.by_reviewer.values())

    def description(self) -> str:
        """Return reviewers and agent with their labels, for the header; empty where there are none."""
        reviewers = ", ".join(
            name
            + (f" ({crew.spec.variant or crew.reviewer_label})" if crew.spec.variant or crew.reviewer_label else "")
            for name, crew in self.by_reviewer.items()
        )
        if not reviewers:
            return ""
        crews = {crew.spec.agent: crew for crew in self.by_reviewer.values()}
        agents = ", ".join(name + self._agent_labels(crew) for name, crew in crews.items())
        return f"reviewers {reviewers}; {'agents' if len(crews) > 1 else 'agent'} {agents}"

    def _agent_labels(self, crew: Crew) -> str:
        labels = [
            *(["simulated"] if crew.simulated and crew.spec.agent != "simulated" else []),
            *(["privileged"] if crew.privileged_agent else []),
            *([self.why_agent] if self.why_agent else []),
        ]
        return f" ({'; '.join(labels)})" if labels else ""


def build_contestants(options: Options, settings: Settings, config: pytest.Config) -> Contestants:
    """Build a crew for every named reviewer. Raises pytest.UsageError, BadInput."""
    try:
        names, why = (options.agents, "") if options.agents else _default_agent(settings)
        agents = _agent_specs(names, settings, config)
        crews = {
            each.reviewer: Crew.build(
                each,
                reviewer_at=place_of(REVIEWERS, each.review_name, settings.reviewers),
                agent_at=place_of(AGENTS, each.agent, settings.agents),
            )
            for each in _crew_specs(agents, options, settings, config)
        }
        problems = [one for crew in crews.values() for one in provider_problems(crew.askers, settings.models)]
        if problems:
            raise pytest.UsageError("\n".join(dict.fromkeys(problems)))
    except UnknownName as error:
        hint = f" ({settings.whereabouts})" if error.where.startswith("--") else ""
        raise pytest.UsageError(f"{error}{hint}") from error
    return Contestants(
        by_reviewer=crews,
        agents=tuple(agents) if options.reviewers else (),
        agent_defaulted=not options.agents and bool(options.reviewers),
        why_agent=why,
        settings=settings,
    )


def _agent_specs(names: Sequence[str], settings: Settings, config: pytest.Config) -> dict[str, AdapterSpec]:
    """Return the specs of the named agents by their present names. Raises BadInput."""
    found = {}
    for name in names:
        make = config.hook.pytest_crab_make_agent
        spec, use = spec_of(AGENTS, name, settings.agents, settings.folder, make, config)
        found[name if name in settings.agents else use] = spec
    return found


def _crew_specs(
    agents: Mapping[str, AdapterSpec], options: Options, settings: Settings, config: pytest.Config
) -> Iterator[CrewSpec]:
    """Yield the crews of every reviewer with every agent, each with its variants. Raises BadInput."""
    scorers = _scorer_specs(options.score, settings)
    for name in dict.fromkeys((*options.reviewers, *([NOTHING] if options.control else []))):
        for agent, agent_spec in agents.items():
            of = _replaying(agent_spec, name)
            spec, use = _reviewer_spec(name, settings, config, recorded=of is not agent_spec)
            is_control = use == NOTHING
            whole = CrewSpec(
                reviewer=name if len(agents) == 1 else full_name(name, [agent]),
                reviewer_spec=spec,
                agent=agent,
                agent_spec=of,
                control=is_control,
                variant=CONTROL if is_control else None,
                scorers=scorers,
                review_by=None if len(agents) == 1 else name,
                reviews=None if options.revisions == 1 else options.repeat,
            )
            yield whole
            yield from _variants(whole, options)


def _scorer_specs(names: Sequence[str], settings: Settings) -> tuple[ScorerSpec, ...]:
    """Return the specs of the named rulers. Raises BadInput for an unknown one, and where none gives verdicts."""
    if not names:
        return default_specs()
    every = [each for name in names for each in (MEASURES if name == SIMILARITY else (name,))]
    specs = tuple(_scorer_spec(name, settings) for name in dict.fromkeys(every))
    load_measures(filter(is_measure, every), "--crab-score")
    if all(map(is_measure, every)):
        raise BadInput("--crab-score", ["similarity gives no verdicts; name another ruler too, such as oracles"])
    return specs


def _scorer_spec(name: str, settings: Settings) -> ScorerSpec:
    variant = settings.judges.get(name)
    if name in SCORERS or is_measure(name):
        if variant is not None:
            raise BadInput(JUDGES.where(name), ["a ruler has this name; give the judge another"])
        return ScorerSpec(name=name)
    if variant is None:
        known = ", ".join((*SCORERS, SIMILARITY, f"{EMBEDDING}MODEL", *settings.judges))
        raise UnknownName("--crab-score", [f"{name!r} is no ruler; use one of {known}, or name a judge in crab.yaml"])
    where = JUDGES.where(name)
    return ScorerSpec(
        name=name, judge=JUDGES.spec(variant.use, variant.settings, settings.folder, where, settings.judges)
    )


def _variants(whole: CrewSpec, options: Options) -> Iterator[CrewSpec]:
    """Yield what is run beside a contestant: its first findings alone, and findings of other pull requests."""
    if whole.control:
        return
    name = whole.review_name
    whole = dataclasses.replace(whole, review_by=None)
    for count in sorted(set(options.top_n)):
        yield dataclasses.replace(whole, reviewer=f"{whole.reviewer}@{count}", first=count, variant=FIRST)
    if options.placebo is not None:
        folder = options.store / "placebo" / hashlib.sha256(str(options.placebo).encode()).hexdigest()[:16]
        folder = folder / name
        reviews = mismatch_reviews(read_trials(trials_file(options.placebo)), name)
        if not reviews:
            raise BadInput(str(options.placebo), [f"it has no two reviews of {name} to exchange"])
        write_reviews(folder, reviews)
        spec = REVIEWERS.spec("replay", {"reviews": str(folder)}, folder)
        yield dataclasses.replace(whole, reviewer=f"{whole.reviewer}@placebo", reviewer_spec=spec, variant=PLACEBO)


def _default_agent(settings: Settings) -> tuple[tuple[str, ...], str]:
    """Return the agent where none is named, and why: claude-code with its key, else the simulated one."""
    known = set(AGENTS.members) | set(settings.agents)
    if "claude-code" not in known or not os.environ.get("ANTHROPIC_API_KEY"):
        return ("simulated",), "the default, since ANTHROPIC_API_KEY is not set; --agent names another"
    if not is_there("claude-code"):
        return ("simulated",), "the default, since claude-code is not installed; --agent names another"
    return ("claude-code",), "the default, since ANTHROPIC_API_KEY is set; --agent names another"


def _replaying(agent: AdapterSpec, reviewer: str) -> AdapterSpec:
    """Return the agent's spec; a replay agent without a folder takes this reviewer's revisions from the set."""
    if agent.path != AGENTS.members["replay"] or agent.settings.keys() & {"revisions", "reviewer"}:
        return agent
    return dataclasses.replace(agent, settings={**agent.settings, "reviewer": reviewer})


def _reviewer_spec(name: str, settings: Settings, config: pytest.Config, *, recorded: bool) -> tuple[AdapterSpec, str]:
    """Return the spec of a reviewer and its built-in name; ``recorded``: an unknown name is a recorded reviewer."""
    make = config.hook.pytest_crab_make_reviewer
    known = name in settings.reviewers or name in _LIVE or not is_recorded_name(name)
    if recorded and not known and make(name=name, config=config) is None:
        return REVIEWERS.spec("replay", {"reviewer": name}, settings.folder), "replay"
    return spec_of(REVIEWERS, name, settings.reviewers, settings.folder, make, config)


def place_of(family: Family, name: str, variants: Mapping[str, Variant]) -> str:
    """Return the place that errors name: the entry of crab.yaml, or the option where there is no such entry."""
    return family.where(name) if name in variants else f"--{family.noun}={name}"


def spec_of(
    family: Family, name: str, variants: Mapping[str, Variant], folder: Path, hook: Any, config: pytest.Config
) -> tuple[AdapterSpec, str]:
    """Return the spec of a name, and the built-in name behind it."""
    variant = variants.get(name)
    use = variant.use if variant else name
    spec: AdapterSpec | None = hook(name=use, config=config)
    if spec is None:
        own = variant.settings if variant else {}
        spec = family.spec(use, own, folder, place_of(family, name, variants), variants, () if variant else variants)
    elif variant:
        spec = AdapterSpec(path=spec.path, settings={**spec.settings, **variant.settings}, folder=str(folder))
    return spec, use
