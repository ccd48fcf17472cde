"""The stages of curation: the promise of one, and the table of their names.

To add a stage:

1. Write a frozen dataclass in a module of this folder. Its fields are its settings, which come from ``curate: {NAME:
   ...}`` of crab.yaml; ``version`` is a number that goes up when the same settings decide otherwise.
2. ``run`` takes a ``PullCandidate`` and returns a changed copy (``dataclasses.replace``), or a ``Rejection``. A comment
   that has to go is taken out with ``candidate.drop({id: reason})``; a candidate that loses its last comment so is
   rejected by the pipeline. An oracle goes to ``CandidateComment.comment`` (``oracle``, ``kind``, ``accepts``,
   ``rejects``), its text to ``candidate.files``, an environment to ``candidate.environment``, a doubt to ``flags``.
3. If the infrastructure fails, and not the candidate, ``run`` raises a CrabError: the candidate has failed for now,
   with the error's sentence, and is tried again by the next run.
4. Name it in ``STAGES``, in its place: stages run in the order of the table.

The pipeline stores each decision under the digest of the candidate, the stage's name, its version and its settings, so
that a stage is asked once. What costs money within a stage is stored answer by answer: ask models through
``context.judge`` or through a step of ``context.cache``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.adapters import Family
from pytest_crab.errors import BadInput
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.steps import StepCache
from pytest_crab.settings import Settings
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import PullCandidate, Usage

#: The first stage, which is made for a source and has no entry in the table.
COLLECT = "collect"

STAGES = Family(
    noun="stage",
    verb="run",
    members={
        "permit": "pytest_crab.curation.permission:Permission",
        "select": "pytest_crab.curation.select:Selection",
        "filter": "pytest_crab.curation.filter:Filter",
        "environment": "pytest_crab.curation.environments:EnvironmentFinding",
        "oracles": "pytest_crab.curation.oracle_writing:OracleWriting",
        "validate": "pytest_crab.curation.validation:Validation",
        "publish": "pytest_crab.curation.publish:Publication",
    },
)


#: The stage that asks whether a set may hold a pull request; it has no settings of its own.
PERMIT = "permit"

#: The stages that run code, or ask a model or an agent: they run where they are named, or have settings in crab.yaml.
ASKING = frozenset({"environment", "oracles", "validate"})


def usual_stages(settings: Settings) -> list[str]:
    """Return the names of the stages that run where none are named."""
    return [COLLECT, *(name for name in STAGES.members if name not in ASKING or name in settings.curate)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate's end."""

    #: In a few words that are counted.
    reason: str
    #: The numbers of this one.
    detail: str = ""
    #: The reasons of single comments, by id, where they are why nothing is left.
    comments: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class CurationContext:
    """The services of stages; each is opened on first use, so that a stage that needs none costs nothing."""

    #: The results of steps in the run's store.
    cache: StepCache
    #: Holds what sources keep.
    folder: Path
    #: Returns the judge of this name in crab.yaml, behind the gateway.
    judge: Callable[[str], JudgeBench]
    #: Returns a crew and a run context, as ``certify`` has them.
    proving: Callable[[], tuple[Crew, RunContext]]
    #: Shows the step that a candidate is in.
    notice: Callable[[str], None] = lambda _words: None
    #: Takes a name, a noun and the usage of each proposal of a model and each attempt of an agent that was made now.
    note_use: Callable[[str, str, Usage | None], None] = lambda _name, _noun, _usage: None


class NamedStage(Protocol):
    """The part of a stage by which its decisions are found again."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    def identity(self) -> Mapping[str, Any]:
        """Return plain data that decides what ``run`` returns, besides the candidate: a version and the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedStage(NamedStage):
    """A stage of an earlier run, as it is on record."""

    name: str
    known: Mapping[str, Any]

    @override
    def identity(self) -> Mapping[str, Any]:
        return self.known


class Stage(NamedStage, Protocol):
    """One stage of curation."""

    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the candidate as this stage leaves it, or its rejection.

        Raises CrabError if the infrastructure failed and the candidate should be tried again.
        """


class SettingsStage(Stage):
    """The part that all stages of the table share: their settings are their identity."""

    name: str
    version: int = 1

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": self.version, "settings": serialization.dump(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStage(Stage):
    """A stage with its identity."""

    stage: Stage
    #: The identity, which is made once: it may read prompts and settings.
    known: Mapping[str, Any]

    @property
    @override
    def name(self) -> str:
        return self.stage.name

    @override
    def identity(self) -> Mapping[str, Any]:
        return self.known

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        return self.stage.run(candidate, context)


def make_stages(names: Sequence[str], settings: Settings) -> list[Stage]:
    """Return the stages of these names in the order of the table, with their settings. Raises BadInput."""
    known = (COLLECT, *(name for name in STAGES.members if name != PERMIT))
    unknown = [name for name in names if name not in (PERMIT, *known)]
    unknown += [name for name in settings.curate if name not in known]
    if unknown:
        raise BadInput("curate", [f"there is no stage {unknown[0]!r}; the stages are {', '.join(known)}"])
    wanted = {*names, PERMIT} if {*names} - {COLLECT} else {*names}
    return [make_stage(name, settings) for name in STAGES.members if name in wanted]


def make_stage(name: str, settings: Settings) -> KnownStage:
    """Return a stage of the table with its settings, and with what other settings mean for it. Raises BadInput."""
    own = settings.curate.get(name, {})
    if name == PERMIT:
        rules = settings.curate.get("publish", {})
        own = {key: rules[key] for key in ("licences", "own_words", "private") if key in rules}
    if settings.private and name in (PERMIT, "publish"):
        own = {**own, "private": True}
    where = f"crab.yaml: curate.{name}"
    stage: Stage = STAGES.build(STAGES.spec(name, own, settings.folder, where), where)
    return KnownStage(stage=stage, known=stage.identity())
