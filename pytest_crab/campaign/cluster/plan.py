"""The data that a run sends to workers: its plan, its crews and its trials; none of it may hold a key."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_crab import harness, serialization
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.trial_pool import TRIALS, ContestantSpec, WorkKind
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import file_digest
from pytest_crab.instances.lock import Contents, certified_runs
from pytest_crab.redaction import Redactor
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.settings import FILE as SETTINGS, ModelSettings
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import Explain, Instance, PullRequest

#: Modules of this project, whose release is compared as a whole.
_OWN = "pytest_crab."


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewPayload:
    """A contestant as workers build it."""

    spec: ContestantSpec
    #: The bundle of what its settings name.
    files: bytes
    #: Maps each module that is not of this package to the digest of its source on the controller.
    modules: Mapping[str, str]
    kind: WorkKind = TRIALS


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The settings that all trials of a run share."""

    run: str
    #: The token under which steps without an identity are kept.
    resume: str
    runtime: RuntimeSettings
    proof_runs: int
    #: How models are reached and what they cost; keys are the worker's own.
    models: ModelSettings
    crews: tuple[CrewPayload, ...] = ()
    #: The bundle of the user's own Dockerfiles; None: there are none.
    dockerfiles: bytes | None = None
    fresh: tuple[str, ...] = ()
    prove: str = "lock"
    attribute: bool = False
    explain: Explain = Explain.ALL
    replay: bool = False
    budget: float | None = None
    shard: str | None = None

    @property
    def topic(self) -> str:
        """The name of this run's queue of messages, of its plugin in workers, and of the resource of those."""
        return f"pytest-crab-{self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTask:
    """One trial of a run."""

    key: str
    #: The topic of its plan.
    topic: str
    #: Its contestant's name.
    crew: str
    repeat: int
    #: Those that the lock of the instance's set has on record, which is not sent (RunContext).
    certified_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialAnswer:
    """A worker's answer to a task."""

    #: The record of its kind, which comes as plain data.
    trial: Any = None
    #: The pull request that it showed.
    shown: PullRequest | None = None
    #: What broke the task.
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The settings of a worker that decide where its trials run, and so the keys of their steps."""

    runtime: str
    base_image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """A worker's answer to a run that asks for it."""

    #: The name of its process.
    uid: str
    release: str
    #: A sentence on each problem.
    problems: tuple[str, ...] = ()
    #: None where there is a problem.
    place: Place | None = None


def release() -> str:
    """Return the name of this installation, which must be the same on both sides for a verdict to mean the same."""
    return f"pytest-crab {metadata.version('pytest-crab')} with harness {harness.VERSION[:12]}"


def certified_runs_of(plan: RunPlan, instance: Instance, contents: Contents | None = None) -> int:
    """Return the ``certified_runs`` of an instance for the run of a plan."""
    return certified_runs(instance, contents) if plan.prove == "lock" else 0


def fill_plan(plan: RunPlan, specs: Iterable[tuple[WorkKind, ContestantSpec]], rootdir: Path) -> RunPlan:
    """Return a plan with its contestants and the user's own Dockerfiles packed. Raises BadInput, OSError."""
    crews = tuple(_payload(kind, spec, plan.models) for kind, spec in specs)
    filled = replace(plan, crews=crews, dockerfiles=bundles.dockerfiles(rootdir))
    names = secrets_of(plan.models)
    refuse_key("the plan of the run", serialization.canonical(plan).encode() + (filled.dockerfiles or b""), names)
    for crew in crews:
        refuse_key(crew.spec.name, serialization.canonical(crew.spec).encode() + crew.files, names)
    return filled


def key_in(content: bytes, names: Iterable[str]) -> str | None:
    """Return the name of an environment variable whose value, a key, stands in content that is to be sent."""
    return Redactor({os.environ.get(name, "").strip(): name for name in names}).find(content)


def refuse_key(what: str, content: bytes, names: Iterable[str]) -> None:
    """Raise BadInput if the value of one of these variables stands in content that is to be sent."""
    found = key_in(content, names)
    if found is not None:
        problem = f"the value of {found} stands in it, and no key is sent to a cluster: set it on the workers instead"
        raise BadInput(what, [problem])


def source_digest(module: str) -> str | None:
    """Return the digest of a module's source file; None if there is no such module."""
    try:
        spec = importlib.util.find_spec(module)
        return None if spec is None or spec.origin is None else file_digest(Path(spec.origin))
    except (ImportError, ValueError, OSError):
        return None


def _payload(kind: WorkKind, spec: ContestantSpec, models: ModelSettings) -> CrewPayload:
    """Pack a contestant, each adapter's folder with a crab.yaml on models, which is part of what some are."""
    settings = serialization.canonical({"models": models}).encode()
    files: dict[str, Path | bytes] = {f"{place}/{SETTINGS}": settings for place in spec.adapters}
    packed = {place: bundles.pack_spec(adapter, place, files, spec.name) for place, adapter in spec.adapters.items()}
    names = {adapter.path.partition(":")[0] for adapter in spec.adapters.values()}
    modules = {name: source_digest(name) or "nothing" for name in names if not f"{name}.".startswith(_OWN)}
    packed_files = bundles.pack(files, spec.name)
    return CrewPayload(spec=spec.with_adapters(packed), files=packed_files, modules=modules, kind=kind)
