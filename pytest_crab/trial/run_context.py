"""The run context that trials share: runtime, store, limits, and the steps to make anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_crab import ecosystems, harness
from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import EngineError
from pytest_crab.instances.lock import Contents
from pytest_crab.model_access import Models
from pytest_crab.protocols import Runtime, Store
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.runtimes import RuntimeSettings, hidden_paths
from pytest_crab.runtimes.engine_address import engine_sockets
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import ModelSettings
from pytest_crab.trial.retries import RETRIES
from pytest_crab.types import Explain, Instance, Provenance, PullRequest

#: Where people keep their keys to models and forges.
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "DEVIN_API_KEY", "GITHUB_TOKEN")


def versions_here(shard: str | None = None) -> dict[str, str]:
    """Return the versions for every record: the package, Python, the harness, and the shard if there are several."""
    here = {
        "pytest_crab": metadata.version("pytest-crab"),
        ecosystems.DEFAULT.name: interpreters.running_release(),
        "harness": harness.VERSION[:16],
    }
    return here if shard is None else {**here, "shard": shard}


def secrets_of(models: ModelSettings) -> tuple[str, ...]:
    """The variables whose values no kept output may hold: the usual ones, and those that crab.yaml names."""
    named = (provider.key_env for provider in models.providers.values())
    return tuple(dict.fromkeys([*KEYS, *filter(None, named)]))


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The parts of a run that its trials share."""

    runtime: Runtime
    store: Store
    #: The folder of sources and environments.
    cache: Path
    #: Its scratch folders are removed at its end.
    run: RunFolder
    #: The token under which results of adapters without an identity are stored.
    resume: str
    #: What the run says of where its code runs.
    settings: RuntimeSettings = field(default_factory=RuntimeSettings)
    proof_runs: int = 2
    #: The number of runs by which the oracles of an instance were proved by the set's lock (lock.certified_runs); where
    #: it is not 0, one run of head and one of the reference prove each of them anew.
    certified_runs: Callable[[Instance, Contents], int] = lambda _instance, _contents: 0
    #: The steps whose stored results are not used.
    fresh: Sequence[str] = ()
    #: The keys of the steps made since (see StepCache).
    made: set[str] = field(default_factory=set)
    #: The reason why this host has no sandbox; None: it has one.
    no_sandbox: str | None = None
    #: Whether each finding is also tried alone.
    attribute: bool = False
    #: Which verdicts are explained from a revision's commits.
    explain: Explain = Explain.ALL
    #: Called, in the trial's thread, with each pull request that contestants are shown.
    seen: Callable[[Instance, PullRequest], None] = lambda _instance, _pull_request: None
    #: Set when the run is stopped.
    cancelled: threading.Event = field(default_factory=threading.Event)
    versions: Mapping[str, Any] = field(default_factory=dict)
    #: The gateway; None if no model is asked.
    models: Models | None = None
    #: The environment variables whose values no kept output may hold.
    secrets: Sequence[str] = KEYS
    #: The policies for repeated steps, by class of failure.
    retries: Mapping[str, RetryPolicy] = field(default_factory=lambda: RETRIES)

    def __post_init__(self) -> None:
        """Hide the store from every sandbox of this process."""
        hidden_paths.hide(self.cache, "the store's cache")
        hidden_paths.hide(Path(getattr(self.store, "folder", self.cache)), "the store")

    def stop(self) -> None:
        """End everything that runs in this context; may be called from any thread."""
        self.cancelled.set()
        if self.models is not None:
            self.models.stop()
        self.runtime.stop()

    @property
    def unconfined(self) -> bool:
        """True if the runtime itself runs oracles without a sandbox."""
        return bool(getattr(self.runtime, "unconfined", False))

    def hidden_places(self) -> dict[Path, str]:
        """The places, links resolved, that no contestant may see, and what lies there."""
        return {
            **{Path(place).resolve(): "an engine's socket" for place in engine_sockets() if place.startswith("/")},
            self.run.folder.parent.resolve(): "the scratch of runs",
            **hidden_paths.hidden_places(),
        }

    def require_sandbox(self, instance: Instance, who: str, *, built_in: bool = False) -> None:
        """Raise EngineError if other people's code would run on this host without a sandbox.

        ``who`` names the contestants, and ``built_in`` says that they are code of this package that runs no other.
        """
        if self.no_sandbox is None or self.settings.allow_unconfined:
            return
        if instance.provenance is Provenance.AUTHORED and built_in:
            return
        needs = instance.id if built_in else f"{instance.id} with {who}"  # else its own code is the reason
        ways = ["install bubblewrap"]
        ways += [self.settings.use("docker")] if self.unconfined else []
        ways += ["say --crab-allow-unconfined"] if self.settings.allow_unconfined is not None else []
        raise EngineError(f"{needs} needs a sandbox on this host, and {self.no_sandbox}: {', or '.join(ways)}")
