"""The records that controller and workers send each other: plain JSON, which never holds a key."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from typing import TypeVar

from pytest_crab import harness
from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.redaction import SHORTEST_SECRET
from pytest_crab.settings import ModelSettings
from pytest_crab.trial import CrewSpec

T = TypeVar("T")

#: The resource of a Dask worker that counts the trials it takes at a time.
RESOURCE = "crab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The parts of an installation that have to be the same on both sides, or a verdict would not mean the same."""

    version: str
    harness: str

    @classmethod
    def here(cls) -> Release:
        """The release of this process."""
        return cls(version=metadata.version("pytest-crab"), harness=harness.VERSION)

    def __str__(self) -> str:
        return f"pytest-crab {self.version} with harness {self.harness[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The settings that all trials of a run share; steps without an identity are kept under the token ``resume``.

    ``rootdir`` is the digest of the bundle with the user's own Dockerfiles, None: there are none. ``models`` says how
    models are reached and what they cost; keys are the worker's own.
    """

    run: str
    release: Release
    resume: str
    runtime: str
    base_image: str
    proof_runs: int
    models: ModelSettings
    fresh: tuple[str, ...] = ()
    attribute: bool = False
    allow_unconfined: bool = False
    replay: bool = False
    budget: float | None = None
    shard: str | None = None
    rootdir: str | None = None

    @property
    def topic(self) -> str:
        """The name of this run's queue of messages, and of the resource of workers that take its trials."""
        return f"pytest-crab-{self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewPayload:
    """A reviewer and an agent as workers build them; ``bundle`` holds the files that their settings name.

    ``modules`` maps each module that is not of this package to the digest of its source on the controller.
    """

    spec: CrewSpec
    bundle: str
    modules: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTask:
    """One trial of a run; ``crew`` is its reviewer's name, ``bundle`` the digest of the instance's files."""

    key: str
    run: str
    crew: str
    bundle: str
    repeat: int


def to_json(value: Any) -> str:
    """Return a record as its JSON text."""
    return serialization.canonical(value)


def from_json(cls: type[T], text: str) -> T:
    """Return the record that a JSON text holds. Raises BadInput."""
    problems: list[str] = []
    found = serialization.read(cls, json.loads(text), problems)
    if found is None:
        raise BadInput("what the controller sent", problems)
    return found


def secret_in(content: bytes, names: Iterable[str], environ: Mapping[str, str]) -> str | None:
    """Return the name of a variable whose value, a key, stands in content that is to be sent."""
    values = ((name, environ.get(name, "").strip().encode()) for name in names)
    return next((name for name, value in values if len(value) >= SHORTEST_SECRET and value in content), None)


def mismatch(there: Release, here: Release) -> str:
    """Return the sentence, behind the names of workers, that refuses them for their release."""
    return f"{there} is installed, and this run has {here}: install the same version on both"


def source_digest(module: str) -> str | None:
    """Return the digest of a module's source file; None if there is no such module."""
    loaded = sys.modules.get(module)
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        origin = None if spec is None else spec.origin
    if origin is None:
        return None
    try:
        return hashlib.sha256(Path(origin).read_bytes()).hexdigest()
    except OSError:
        return None
