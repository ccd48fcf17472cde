"""The shared parts of a run's trials: runtime, store, gateway and scratch, each made when first asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_crab import runtimes
from pytest_crab.adapters import Family
from pytest_crab.errors import CrabError, StoreError
from pytest_crab.instances.lock import certified_runs
from pytest_crab.instances.pull_requests import subject_of, write_subject
from pytest_crab.lazy import lazy
from pytest_crab.models import Gateway
from pytest_crab.option_table import Options
from pytest_crab.plugin.options import runs_items, runs_trials
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes import RuntimeSettings, bubblewrap
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import Settings
from pytest_crab.store import FileStore
from pytest_crab.store.open_run import OpenRun, token_of
from pytest_crab.trial import RunContext
from pytest_crab.trial.run_context import secrets_of, versions_here
from pytest_crab.types import Explain, Instance, PullRequest

log = logging.getLogger(__name__)

#: Runtimes that a hook makes; each is a dataclass whose fields are its settings.
RUNTIME = Family(noun="runtime", verb="execute", members=runtimes.RUNTIMES)


class Resources:
    """The shared parts of a run in this process. Nothing is started, connected or written before it is needed.

    A worker of pytest-xdist takes over the decisions of its controller. ``run_code``: items run code, in a runtime.
    """

    def __init__(self, options: Options, settings: Settings, config: pytest.Config, *, run_code: bool) -> None:
        self._options = options
        self.settings = settings
        self._config = config
        self.run_code = run_code
        self._shared: Mapping[str, str] = getattr(config, "workerinput", {}).get("crab", {})
        self._open_run: OpenRun | None = None
        self._guard = threading.Lock()
        self._subjects: set[str] = set()
        self._closed = False
        config.add_cleanup(self.close)
        config.add_cleanup(self.leave_run)
        known = options.runtime in ("auto", *runtimes.RUNTIMES)
        if not known and config.hook.pytest_crab_make_runtime(name=options.runtime, config=config) is None:
            raise pytest.UsageError(
                f"--crab-runtime is {options.runtime!r}; it should be auto, docker or local, or one that a hook makes"
            )

    @lazy
    def chosen(self) -> RuntimeSettings:
        """The runtime and why; no engine is asked for where no code runs.

        Raises pytest.UsageError if the one that was named cannot work.
        """
        settings = self._options.runtime_settings
        if not self.run_code:
            return replace(settings, runtime="local", why="no code runs")
        if self._options.cluster is not None and runs_trials(self._options, self._config):
            return replace(settings, why="as each worker has it")
        if "runtime" in self._shared:
            return replace(settings, runtime=self._shared["runtime"], why=self._shared["why_runtime"])
        try:
            return runtimes.choose(settings)
        except CrabError as error:
            raise pytest.UsageError(str(error)) from error

    @lazy
    def resume(self) -> str:
        """The token under which steps without an identity are kept: a killed run's own, else a new one.

        Raises pytest.UsageError for a store that cannot be used.
        """
        if "resume" in self._shared:
            return self._shared["resume"]
        try:
            if self._options.plan:
                return token_of(self._options.store) or "none yet"
            self._open_run = OpenRun(self._options.store)
        except StoreError as error:
            raise pytest.UsageError(str(error)) from error
        return self._open_run.token

    def leave_run(self, *, complete: bool = False) -> None:
        """Give the token back; ``complete``: every trial came to its end, so no later run takes it over."""
        if self._open_run is not None:
            self._open_run.close(complete=complete)
            self._open_run = None

    def decisions(self) -> dict[str, str]:
        """Return what is decided once for the run, as plain data for a worker; empty where no trial runs."""
        if not runs_trials(self._options, self._config):
            return {}
        return {
            "runtime": self.chosen.runtime,
            "why_runtime": self.chosen.why,
            "resume": self.resume,
            "gateway": str(self._gateway_folder()),
            "report": str(self._options.report),
        }

    @lazy
    def run(self) -> RunFolder:
        """This run's place on the machine."""
        return RunFolder()

    @lazy
    def models(self) -> Gateway:
        """The gateway; its process is started at the first request."""
        budget, replay = self._options.budget, self._options.replay
        return Gateway.beside(self._options.store, self.settings, self._gateway_folder, budget=budget, replay=replay)

    @lazy
    def run_context(self) -> RunContext:
        """The surroundings of every trial."""
        options = self._options
        store = FileStore(options.store)
        return RunContext(
            runtime=self._make_runtime(store),
            store=store,
            cache=store.cache,
            run=self.run,
            resume=self.resume,
            proof_runs=options.proof_runs,
            certified_runs=certified_runs if options.prove == "lock" else lambda _instance, _contents: 0,
            fresh=options.rerun,
            no_sandbox=bubblewrap.problem(),
            settings=self.chosen,
            attribute=options.attribute,
            explain=Explain(options.explain),
            seen=self.write_subject,
            versions=versions_here(options.part),
            models=self.models,
            secrets=secrets_of(self.settings.models),
        )

    @property
    def runtime_in_use(self) -> Runtime | None:
        """The runtime of this process's trials; None before the first of them."""
        return self.run_context.runtime if "run_context" in self.__dict__ else None

    def write_subject(self, instance: Instance, pull_request: PullRequest) -> None:
        """Write what an instance is about beside the report, once; a report can do without."""
        with self._guard:
            if self._options.plan or instance.id in self._subjects:
                return
            self._subjects.add(instance.id)
        try:
            write_subject(
                Path(self._shared.get("report", self._options.report)), subject_of(instance, pull_request.diff)
            )
        except OSError as error:
            log.warning("%s: what it is about cannot be written for the report: %s", instance.id, error)

    def close(self) -> None:
        """Leave nothing of this process behind."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        if "run_context" in self.__dict__:
            self.run_context.runtime.close()
        if "models" in self.__dict__:
            self.models.close()
        if "run" in self.__dict__:
            self.run.close()

    def runtime_text(self) -> str:
        """Return the runtime and why, for the header; nothing is decided where nothing will run."""
        if not runs_items(self._config):
            return f"{self._options.runtime} (nothing will run)"
        notes = [self.chosen.why] if self.chosen.runtime != self._options.runtime else []
        problem = bubblewrap.problem() if self.chosen.runtime == "local" else None
        notes += [] if problem is None else [f"without a sandbox: {problem}"]
        return f"{self.chosen.runtime} ({'; '.join(notes)})" if notes else self.chosen.runtime

    def _gateway_folder(self) -> Path:
        """Return where the processes of this run find their one gateway: below the controller's own folder."""
        return Path(self._shared["gateway"]) if "gateway" in self._shared else self.run.folder / "gateway"

    def _make_runtime(self, store: FileStore) -> Runtime:
        name = self.chosen.runtime
        spec = self._config.hook.pytest_crab_make_runtime(name=name, config=self._config)
        if spec is not None:
            return cast("Runtime", RUNTIME.build(spec, f"--crab-runtime={name}"))
        unconfined = bubblewrap.problem() is not None
        return runtimes.make(self.chosen, rootdir=self._config.rootpath, cache=store.cache, unconfined=unconfined)


class SharedDecisions:
    """Sends each worker of pytest-xdist what is decided once for the run.

    ``Resources`` is no plugin itself: pytest before 8.4 reads every attribute of a plugin, and so would start them all.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker the decisions."""
        if decisions := self._resources.decisions():
            node.workerinput["crab"] = decisions
