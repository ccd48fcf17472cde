"""One run on a worker: its world, made for the first of its trials there, and closed with the run or the worker."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crab import runtimes
from pytest_crab import serialization
from pytest_crab.campaign.cluster.bundles import read_instance
from pytest_crab.campaign.cluster.bundles import unpack
from pytest_crab.campaign.cluster.disk import Disk
from pytest_crab.campaign.cluster.disk import disk_budget
from pytest_crab.campaign.cluster.messages import CrewPayload
from pytest_crab.campaign.cluster.messages import RunPlan
from pytest_crab.campaign.cluster.messages import TrialTask
from pytest_crab.campaign.cluster.messages import source_digest
from pytest_crab.campaign.cluster.remote_store import Controller
from pytest_crab.campaign.cluster.remote_store import RemoteStore
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.models import Gateway
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.runs import is_dead
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.scratch import machine_folder
from pytest_crab.trial import Crew
from pytest_crab.trial import World
from pytest_crab.trial import run_trial
from pytest_crab.trial.world import secrets_of
from pytest_crab.trial.world import versions_here
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import TrialId

#: A worker's own settings: the folder of its store, its runtime, and its base image.
STORE, RUNTIME, BASE_IMAGE = "CRAB_STORE", "CRAB_RUNTIME", "CRAB_BASE_IMAGE"

#: Seconds until a trial that was not admitted asks again.
_WAIT = 1.0


def store_folder() -> Path:
    """Return where this worker keeps finished steps: CRAB_STORE, else a folder in the user's cache."""
    named = os.environ.get(STORE)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(named) if named else Path(cache, "pytest-crab", "worker")).absolute()


def runtime_of(plan: RunPlan) -> str:
    """Return the runtime of this run's trials here: the one named for the run, else what suits this machine.

    Raises EngineError where it cannot work.
    """
    wanted = plan.runtime if plan.runtime != "auto" else os.environ.get(RUNTIME) or "auto"
    return runtimes.choose(wanted, base=_base_image(plan)).name


def remove_leftovers() -> None:
    """Remove the bundles of dead processes."""
    for folder in _bundles().iterdir() if _bundles().is_dir() else ():
        if is_dead(folder.name):
            with contextlib.suppress(FileNotFoundError):  # another process is at it too
                remove_folder(folder)


class WorkerRun:
    """One run on this worker: bundles in a folder that contestants may be shown, and a world for its trials.

    ``name`` is the worker's, ``connect`` makes the way to the controller, once a trial is to run.
    """

    def __init__(self, plan: RunPlan, name: str, connect: Callable[[], Controller]) -> None:
        self.plan = plan
        self.name = name
        self.keys: set[str] = set()
        self.stopped = False
        self.world: World | None = None
        self._connect = connect
        self._crews: dict[str, Crew] = {}
        self._guard = threading.Lock()
        self._idle = threading.Condition(self._guard)
        self._making = threading.Lock()
        self._reading = threading.Lock()
        self._booked = 0
        self._seen: dict[str, PullRequest] = {}
        self._run = Run()
        assert self._run.folder.is_dir()  # from now on this run is known to live
        self._bundles = _bundles() / self._run.id
        self._stack = ExitStack()
        self._stack.callback(self._run.close)
        self._stack.callback(remove_folder, self._bundles)

    def prepare(self, crews: Sequence[CrewPayload], contents: Mapping[str, bytes]) -> Iterator[str]:
        """Unpack and build what all trials need; yield a sentence on each thing that would not work here."""
        try:
            for digest, content in contents.items():
                unpack(digest, content, self._bundles)
            for payload in crews:
                yield from self._build(payload)
            disk_budget()
            runtime_of(self.plan)
        except (CrabError, OSError) as error:
            yield " ".join(str(error).split())

    def open(self) -> World:
        """Return the world of trials, which the first call makes. Raises CrabError, OSError."""
        with self._making:
            if self.world is None:
                self._controller = self._connect()
                self._stack.callback(self._controller.close)
                self.world = self._make_world()
            return self.world

    def perform(self, task: TrialTask, files: bytes) -> dict[str, Any]:
        """Run a trial: {"trial", and "pull_request" where one was shown}. Raises Cancelled once this was stopped."""
        with self._guard:
            if self.stopped:
                raise Cancelled("the run was stopped there")
            self.keys.add(task.key)
        try:
            world = self.open()
            return self._perform(task, read_instance(unpack(task.bundle, files, self._bundles)), world)
        finally:
            with self._guard:
                self.keys.discard(task.key)
                self._idle.notify_all()

    def _perform(self, task: TrialTask, instance: Instance, world: World) -> dict[str, Any]:
        label = str(TrialId(instance.id, task.crew, task.repeat))

        def notice(step: str) -> None:
            self.send({"key": task.key, "notice": step})

        while "allowance" not in (answer := self.call({"key": task.key, "begin": label})):
            if world.cancelled.wait(_WAIT):
                raise Cancelled("the run was stopped before the trial was admitted")
        self._models.allow(label, answer["allowance"])
        try:
            with self._disk.trial(instance.id):
                trial = run_trial(instance, self._crews[task.crew], world, repeat=task.repeat, notice=notice)
        finally:
            self.send_ledger()
            self.send({"key": task.key, "end": label in self._models.short})
        seen = self._seen.pop(instance.id, None)  # each trial notes it again
        return {
            "trial": serialization.dump(trial),
            **({} if seen is None else {"pull_request": serialization.dump(seen)}),
        }

    def send(self, message: Mapping[str, Any]) -> None:
        """See remote_store.Controller; a finished step comes after what it has cost."""
        if "value" in message:
            self.send_ledger()
        self._controller.send(message)

    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """See remote_store.Controller."""
        return self._controller.call(message)

    def send_ledger(self) -> None:
        """Send what the gateway has booked since the last time."""
        ledger = store_folder() / "ledger" / f"{self._run.id}.jsonl"
        with self._reading, contextlib.suppress(OSError), ledger.open("rb") as file:
            file.seek(self._booked)
            whole = file.read().rpartition(b"\n")[0]
            if whole:
                self._booked += len(whole) + 1
                self.send({"entries": list(_entries(whole))})

    def stop(self) -> None:
        """End everything that runs for the run; nothing of it starts any more."""
        with self._guard:
            self.stopped = True
        if self.world is not None:
            self.world.stop()

    def close(self, patience: float = 60.0) -> None:
        """End what runs, wait until it has ended, and give everything back; a second call does nothing."""
        with self._guard:
            self.stopped = True  # from here on nothing begins
            running = bool(self.keys)
        if running:
            self.stop()
        with self._guard:
            self._idle.wait_for(lambda: not self.keys, patience)
        self._stack.close()

    def _build(self, payload: CrewPayload) -> Iterator[str]:
        """Build a crew as it is on the controller, or yield why it cannot be."""
        spec, folder = payload.spec, self._bundles / payload.bundle
        for module, digest in payload.modules.items():
            found = source_digest(module)
            if found is None:
                yield f"{module} ({spec.reviewer}) cannot be imported: install what holds it on the workers"
            elif found != digest:
                yield f"{module} ({spec.reviewer}) is {found[:12]}, and {digest[:12]} for this run: update it"
            if found != digest:
                return
        reviewer = replace(spec.reviewer_spec, folder=str(folder / spec.reviewer_spec.folder))
        agent = replace(spec.agent_spec, folder=str(folder / spec.agent_spec.folder))
        self._crews[spec.reviewer] = Crew.build(replace(spec, reviewer_spec=reviewer, agent_spec=agent))

    def _note(self, instance: Instance, pull_request: PullRequest) -> None:
        self._seen[instance.id] = pull_request

    def _warn(self, sentence: str) -> None:
        self.send({"warning": f"worker {self.name}: {sentence}"})

    def _make_world(self) -> World:
        plan, run, secrets = self.plan, self._run, secrets_of(self.plan.models)
        store = RemoteStore(store_folder(), self, self._warn, secrets=secrets)
        self._models = models = Gateway(
            lambda: run.folder / "gateway",
            plan.models,
            cassettes=Path(plan.models.cassettes) if plan.models.cassettes else store.folder / "cassettes",
            ledgers=store.folder / "ledger",
            replay=plan.replay,
        )
        self._stack.callback(models.close)
        problem = bubblewrap.problem()
        return World(
            runtime=self._make_runtime(store, problem),
            store=store,
            cache=store.cache,
            run=run,
            resume=plan.resume,
            proof_runs=plan.proof_runs,
            fresh=plan.fresh,
            no_sandbox=problem,
            allow_unconfined=plan.allow_unconfined,
            attribute=plan.attribute,
            seen=self._note,
            versions={**versions_here(plan.shard), "worker": self.name},
            models=models,
            secrets=secrets,
        )

    def _make_runtime(self, store: RemoteStore, problem: str | None) -> Runtime:
        """Make the runtime and what watches its disk; ``problem`` is why there is no sandbox."""
        plan, name = self.plan, runtime_of(self.plan)
        rootdir = self._bundles / plan.rootdir if plan.rootdir else self._bundles
        runtime = runtimes.make(
            name, rootdir=rootdir, cache=store.cache, base=_base_image(plan), unconfined=problem is not None
        )
        self._stack.callback(runtime.close)
        if problem is not None and name == "local":  # said once for all workers that have the same
            self.send({"warning": f"there are workers that run code without a sandbox: {problem}"})
        self._disk = Disk(name, store.cache, getattr(runtime, "holds", None), self._warn)
        self._stack.callback(self._disk.close)
        try:
            runtime.sweep()
        except (CrabError, OSError) as error:  # what dead runs left does not keep this one from running
            self._warn(f"what earlier runs left could not be removed: {error}")
        return runtime


def _entries(text: bytes) -> Iterator[Mapping[str, Any]]:
    for line in text.split(b"\n"):
        with contextlib.suppress(ValueError):  # the disk was full, and a part of it was written
            yield json.loads(line)


def _base_image(plan: RunPlan) -> str:
    return os.environ.get(BASE_IMAGE) or plan.base_image


def _bundles() -> Path:
    return machine_folder() / "bundles"
