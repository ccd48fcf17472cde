"""The worker's side of a run: the world, made when the first trial starts, and the campaign of its trials."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from pytest_crab import runtimes
from pytest_crab.adapters import Family
from pytest_crab.campaign.executor import AHEAD
from pytest_crab.campaign.executor import AHEAD_ON_BUDGET
from pytest_crab.campaign.executor import Campaign
from pytest_crab.campaign.executor import Notice
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.campaign.giving_up import GivingUp
from pytest_crab.campaign.plan import plan_lines
from pytest_crab.campaign.progress import Progress
from pytest_crab.errors import CrabError
from pytest_crab.errors import StoreError
from pytest_crab.lazy import lazy
from pytest_crab.models import Gateway
from pytest_crab.plugin.collect import TrialItem
from pytest_crab.plugin.crew import Crews
from pytest_crab.plugin.leaving import Leaving
from pytest_crab.plugin.options import Options
from pytest_crab.protocols import Runtime
from pytest_crab.report.subjects import subject_of
from pytest_crab.report.subjects import write_subject
from pytest_crab.report.text import counted
from pytest_crab.runtimes import Choice
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.store import FileStore
from pytest_crab.store.open_run import OpenRun
from pytest_crab.store.open_run import token_of
from pytest_crab.trial import World
from pytest_crab.trial import run_trial
from pytest_crab.trial.world import secrets_of
from pytest_crab.trial.world import versions_here
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import Trial
from pytest_crab.types import TrialId

if TYPE_CHECKING:
    from pytest_crab.campaign.cluster.executor import ClusterExecutor

log = logging.getLogger(__name__)

#: Runtimes that a hook names; each is a dataclass whose fields are its settings.
RUNTIME = Family(noun="runtime", verb="execute", table=runtimes.RUNTIMES)


class Work:
    """Trials of this process. Nothing is started, connected or written before the first trial is submitted."""

    def __init__(self, options: Options, crews: Crews, config: pytest.Config) -> None:
        self.options = options
        self.crews = crews
        self.config = config
        self._shared: dict[str, Any] = getattr(config, "workerinput", {}).get("crab", {})
        self._campaign: Campaign | None = None
        self._guard = threading.Lock()
        self._closed = False
        self.giving_up = GivingUp(options.give_up)
        self._subjects: set[str] = set()
        self._open_run: OpenRun | None = None
        self._cluster: ClusterExecutor | None = None
        self.leaving = Leaving(options.store)
        self._check_runtime()

    # --- what is decided once for a run, and told to the workers of pytest-xdist ------------------------------------

    @lazy
    def choice(self) -> Choice:
        """The runtime and why. Raises pytest.UsageError if the one that was named cannot work."""
        if self.remote:
            return Choice(name=self.options.runtime, reason="as each worker has it")
        if "runtime" in self._shared:
            return Choice(name=self._shared["runtime"], reason=self._shared["why_runtime"])
        try:
            return runtimes.choose(self.options.runtime, base=self.options.base_image)
        except CrabError as error:
            raise pytest.UsageError(str(error)) from error

    @property
    def remote(self) -> bool:
        """Whether the trials of this run are for a cluster."""
        return self.options.cluster is not None and not self.options.plan and runs_items(self.config)

    def connect(self) -> None:
        """Come to the cluster, if one is named and trials are to run. Raises pytest.UsageError."""
        if self.remote:
            from pytest_crab.plugin.remote import cluster_of

            self._cluster = cluster_of(
                self.options, self.crews, self.config, resume=self.resume, heard=self._heard_from_afar
            )

    @property
    def at_a_time(self) -> int:
        """How many trials may run at a time."""
        return self.options.jobs if self._cluster is None else self._cluster.workers.slots

    def news(self) -> list[str]:
        """What is to be said of a cluster's workers, and was not taken before."""
        return [] if self._cluster is None else self._cluster.events.take()

    def losses(self) -> str | None:
        """How many of a cluster's workers were lost, and trials given again; None: none."""
        return None if self._cluster is None else self._cluster.events.summary()

    @property
    def ahead(self) -> int:
        """How many trials are submitted from the one on that is reported.

        Many more than run at a time, since behind a long one other lanes would wait; no more where the run may end
        early, and few under a disk budget, which environments leave once their trials are reported.
        """
        if self.config.option.maxfail:
            return max(1, self.at_a_time)
        return max(1, self.at_a_time) * (AHEAD if self.options.disk_budget is None else AHEAD_ON_BUDGET)

    def _check_runtime(self) -> None:
        name = self.options.runtime
        known = name in ("auto", *runtimes.RUNTIMES)
        if not known and self.config.hook.pytest_crab_make_runtime(name=name, config=self.config) is None:
            raise pytest.UsageError(
                f"--crab-runtime is {name!r}; it should be auto, docker or local, or one that a hook makes"
            )

    def runtime_in_words(self) -> str:
        """The runtime and why, for the header; nothing is decided where nothing will run."""
        if not runs_items(self.config):
            return f"{self.options.runtime} (nothing will run)"
        if self._cluster is not None:
            workers = len(self._cluster.workers.known)
            return (
                f"{self.choice.name} (as each worker has it); {self.options.cluster} with {counted(workers, 'worker')}"
            )
        words = [self.choice.reason] if self.choice.name != self.options.runtime else []
        problem = bubblewrap.problem() if self.choice.name == "local" else None
        if problem is not None:
            words.append(f"without a sandbox: {problem}")
        return f"{self.choice.name} ({'; '.join(words)})" if words else self.choice.name

    @lazy
    def resume(self) -> str:
        """The token under which steps without an identity are kept: a killed run's own, else a new one.

        Raises pytest.UsageError for a store that cannot be written.
        """
        if "resume" in self._shared:
            return str(self._shared["resume"])
        if self.options.plan:
            return token_of(self.options.store) or "none yet"
        try:
            self._open_run = OpenRun(self.options.store)
        except StoreError as error:
            raise pytest.UsageError(str(error)) from error
        return self._open_run.token

    def leave_run(self, *, complete: bool) -> None:
        """Give the token back; ``complete``: every trial came to its end, so that no later run takes it over."""
        if self._open_run is not None:
            self._open_run.close(complete=complete)
            self._open_run = None

    def shared(self) -> dict[str, str]:
        """What a worker is told, as plain data."""
        return {
            "runtime": self.choice.name,
            "why_runtime": self.choice.reason,
            "resume": self.resume,
            "gateway": str(self._gateway_folder()),
        }

    def _gateway_folder(self) -> Path:
        """Where the processes of this run find their one gateway: below the controller's own folder."""
        return Path(self._shared["gateway"]) if "gateway" in self._shared else self.run.folder / "gateway"

    def models_in_words(self) -> list[str]:
        """How models are asked, for the header, where something was said about it."""
        cassettes = self.crews.settings.cassettes(self.options.store)
        words = [f"recordings in {cassettes} and nothing else (--crab-replay)"] if self.options.replay else []
        words += [f"a budget of {self.options.budget:g} USD"] if self.options.budget is not None else []
        return [f"crab: models: {', '.join(words)}"] if words else []

    @lazy
    def models(self) -> Gateway:
        """The gateway; no process is started before the first access."""
        options = self.options
        return Gateway.beside(
            options.store, self.crews.settings, self._gateway_folder, budget=options.budget, replay=options.replay
        )

    # --- trials -----------------------------------------------------------------------------------------------------

    def submit(self, instance: Instance, reviewer: str, repeat: int = 1) -> None:
        """Start a trial unless it was started, or the run is over."""
        with self._guard:
            if self._closed or self.giving_up.sentence(reviewer) is not None:
                return
            if self._campaign is None:
                self._campaign = self._start()
        work = TrialWork(instance=instance, crew=self.crews.by_reviewer[reviewer], repeat=repeat, here=self._perform)
        self._campaign.submit(TrialId(instance.id, reviewer, repeat), work)

    def _perform(self, work: TrialWork, notice: Notice) -> Trial:
        """Run a trial in this process."""
        trial = run_trial(work.instance, work.crew, self.world, repeat=work.repeat, notice=notice)
        self._hear(work, trial)
        return trial

    def _hear(self, work: TrialWork, trial: Trial) -> None:
        """Let others hear of a review that was just made."""
        if trial.review is not None and any(step.step == "review" and not step.reused for step in trial.steps):
            self.config.hook.pytest_crab_review_done(
                instance=work.instance, reviewer=trial.reviewer, review=trial.review, config=self.config
            )

    def _heard_from_afar(self, work: TrialWork, trial: Trial, shown: PullRequest | None) -> None:
        """Do for a trial that a worker ran what is done here for those of this process."""
        if shown is not None:
            self._note_subject(work.instance, shown)
        self._hear(work, trial)

    def result(self, key: TrialId, tick: Callable[[Progress], None]) -> Trial | None:
        """Wait for a trial; None if it was never run to its end."""
        return None if self._campaign is None else self._campaign.result(key, tick)

    def plan(self, items: Sequence[TrialItem]) -> Iterator[str]:
        """Say what is stored and what would run, running nothing."""
        return plan_lines(
            self.world, [(item.instance, self.crews.by_reviewer[item.reviewer], item.repeat) for item in items]
        )

    def stop(self) -> None:
        """End what runs and leave nothing of this process behind; a second interrupt meanwhile ends the process."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        try:
            if self._campaign is not None:
                self._campaign.stop()
            elif self._cluster is not None:
                self._cluster.shutdown()
            if "world" in self.__dict__:
                self.world.runtime.close()
            if "models" in self.__dict__:
                self.models.close()
            if "run" in self.__dict__:
                self.run.close()
        except KeyboardInterrupt:
            self.leaving.at_once()

    @lazy
    def run(self) -> Run:
        """This run's place on the machine; made when first asked for."""
        return Run()

    @lazy
    def world(self) -> World:
        """What all trials share."""
        options = self.options
        store = FileStore(options.store)
        return World(
            runtime=self._runtime(store),
            store=store,
            cache=store.cache,
            run=self.run,
            resume=self.resume,
            proof_runs=options.proof_runs,
            fresh=options.fresh,
            no_sandbox=bubblewrap.problem(),
            allow_unconfined=options.allow_unconfined,
            attribute=options.attribute,
            seen=self._note_subject,
            versions=versions_here(options.part),
            models=self.models,
            secrets=secrets_of(self.crews.settings.models),
        )

    @property
    def runtime_in_use(self) -> Runtime | None:
        """The runtime of this process's trials; None before the first of them."""
        return self.world.runtime if "world" in self.__dict__ else None

    def _note_subject(self, instance: Instance, pull_request: PullRequest) -> None:
        """Keep for the report what an instance is about; a report can do without."""
        if self.options.plan:
            return
        with self._guard:
            new = instance.id not in self._subjects
            self._subjects.add(instance.id)
        if not new:
            return
        try:
            write_subject(self.options.report, subject_of(instance, pull_request.diff))
        except OSError as error:
            log.warning("%s: what it is about cannot be written for the report: %s", instance.id, error)

    def _runtime(self, store: FileStore) -> Runtime:
        name = self.choice.name
        spec = self.config.hook.pytest_crab_make_runtime(name=name, config=self.config)
        if spec is not None:
            return cast("Runtime", RUNTIME.build(spec, f"--crab-runtime={name}"))
        return runtimes.make(
            name,
            rootdir=self.config.rootpath,
            cache=store.cache,
            base=self.options.base_image,
            unconfined=bubblewrap.problem() is not None,
        )

    def _start(self) -> Campaign:
        if self._cluster is not None:
            return Campaign(self._cluster, self._cluster.stop, self._ended)
        try:
            self.world.runtime.sweep()
        except (CrabError, OSError) as error:  # what dead runs left does not keep this one from running
            log.warning("what earlier runs left could not be removed: %s", error)
        executor = ThreadPoolExecutor(max_workers=self.options.jobs, thread_name_prefix="crab")
        return Campaign(executor, self.world.stop, self._ended)

    def _ended(self, trial: Trial) -> None:
        """Take a reviewer's trials out of the queue once it is given up."""
        if self.giving_up.note(trial) and self._campaign is not None:
            self._campaign.drop(lambda key: isinstance(key, TrialId) and key.reviewer == trial.reviewer)


def runs_items(config: pytest.Config) -> bool:
    """Whether pytest is to run what it collects."""
    option = config.option
    return not (option.collectonly or option.setuponly or option.setupplan)
