"""One run on a worker: its run context, made for the first trial and closed with the run or the worker."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import runtimes
from pytest_crab.campaign.cluster.bundles import read_instance, unpack
from pytest_crab.campaign.cluster.disk import disk_budget
from pytest_crab.campaign.cluster.plan import CrewPayload, Place, RunPlan, TrialAnswer, TrialTask, source_digest
from pytest_crab.campaign.cluster.remote_store import Controller, RemoteStore
from pytest_crab.campaign.disk import DiskOfTrials
from pytest_crab.campaign.trial_pool import Contestant, WorkKind
from pytest_crab.errors import Cancelled, CrabError
from pytest_crab.models import Gateway
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.scratch import scratch, user_cache
from pytest_crab.trial import RunContext
from pytest_crab.trial.run_context import secrets_of, versions_here
from pytest_crab.types import Instance, PullRequest, TrialId
from pytest_crab.waiting import FOR_A_SLOT

#: A worker's own settings: the folder of its store, its runtime, and its base image.
STORE, RUNTIME, BASE_IMAGE = "CRAB_STORE", "CRAB_RUNTIME", "CRAB_BASE_IMAGE"

#: Seconds until a trial that was not admitted asks again.
_WAIT = 1.0


def store_folder() -> Path:
    """Return where this worker keeps finished steps: CRAB_STORE, else a folder in the user's cache."""
    named = os.environ.get(STORE)
    return Path(named).absolute() if named else user_cache() / "worker"


class WorkerRun(Controller):
    """One run on this worker: bundles in a folder that contestants may be shown, and a context for its trials.

    ``name`` is the worker's, ``keys`` are the trials that run. It is to be prepared first, which finds its ``place``,
    and closed in any case.
    """

    def __init__(self, plan: RunPlan, name: str, controller: Controller) -> None:
        self.plan = plan
        self.name = name
        self.keys: set[str] = set()
        self._controller = controller
        self.place: Place | None = None
        self._crews: dict[str, tuple[WorkKind, Contestant]] = {}
        self._run_context: RunContext
        self._stopped = False
        self._idle = threading.Condition()
        self._closing = threading.Lock()
        self._booked = 0
        self._seen: dict[str, PullRequest] = {}
        self._certified: dict[str, int] = {}
        self._run = RunFolder()
        self._stack = ExitStack()
        self._stack.callback(self._run.close)
        self._stack.callback(controller.close)

    def prepare(self) -> list[str]:
        """Make all that trials need; return a sentence on each thing that would not work here."""
        problems: list[str] = []
        try:
            self._bundles = self._stack.enter_context(scratch("bundles"))
            for payload in self.plan.crews:
                problems += self._build(payload)
            self._run_context = self._make_run_context()
        except (CrabError, OSError) as error:
            problems.append(" ".join(str(error).split()))
        return problems

    def perform(self, task: TrialTask, files: bytes) -> TrialAnswer:
        """Run a trial once the controller admits it. Raises Cancelled once this was stopped, CrabError and OSError."""
        with self._idle:
            if self._stopped:
                raise Cancelled("the run was stopped there")
            self.keys.add(task.key)
        try:
            return self._perform(task, read_instance(unpack(files, self._bundles)))
        finally:
            with self._idle:
                self.keys.discard(task.key)
                self._idle.notify_all()

    def _perform(self, task: TrialTask, instance: Instance) -> TrialAnswer:
        label = str(TrialId(instance.id, task.crew, task.repeat))
        self._certified[instance.id] = task.certified_runs
        self.models.allow(label, self._await_allowance(task.key, label))
        kind, crew = self._crews[task.crew]
        notice = _Notices(self, task.key, kind.asking)
        try:
            with self._disk.trial(instance.id):
                trial = kind.perform(instance, crew, self._run_context, repeat=task.repeat, notice=notice)
        finally:
            self.send({"key": task.key, "end": label in self.models.short})
        return TrialAnswer(trial=trial, shown=self._seen.pop(instance.id, None))  # each trial notes it again

    @override
    def send(self, message: Mapping[str, Any]) -> bool:
        """The gateway's bookings since a message was sent well go along."""
        entries, end = self._new_entries()
        sent = self._controller.send({**message, **({"entries": entries} if entries else {})})
        self._booked = end if sent else self._booked
        return sent

    @override
    def note(self, message: Mapping[str, Any]) -> None:
        """With bookings it is sent at once."""
        if self._new_entries()[0]:
            self.send(message)
        else:
            self._controller.note(message)

    @override
    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._controller.call(message)

    def close(self, patience: float = 60.0) -> None:
        """End what runs, wait so many seconds for that, and give everything back; a second call does nothing."""
        with self._idle:
            self._stopped = True  # from here on nothing begins
            running = bool(self.keys)
        if running:
            self._run_context.stop()
        with self._idle:
            self._idle.wait_for(lambda: not self.keys, patience)
        with self._closing:
            self._stack.close()

    def _await_allowance(self, key: str, label: str) -> float | None:
        """Return the US dollars that a trial may spend, None: without end. Raises Cancelled if it is not to run."""
        while "allowance" not in (answer := self.call({"key": key, "begin": label})):
            if "unwanted" in answer or self._run_context.cancelled.wait(_WAIT):
                raise Cancelled("the run was stopped before the trial was admitted")
        allowance: float | None = answer["allowance"]
        return allowance

    def _new_entries(self) -> tuple[dict[str, Mapping[str, Any]], int]:
        """Return what the gateway has booked and was not sent, by its identity, and where that ends in its ledger."""
        ledger = store_folder() / "ledger" / f"{self._run.id}.jsonl"
        entries = {}
        place = self._booked
        with contextlib.suppress(OSError), ledger.open("rb") as file:
            file.seek(place)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                with contextlib.suppress(ValueError):  # the disk was full, and a part of it was written
                    entries[f"{self._run.id}:{place}"] = json.loads(line)
                place += len(line)
        return entries, place

    def _build(self, payload: CrewPayload) -> Iterator[str]:
        """Build a crew as it is on the controller, or yield why it cannot be."""
        spec = payload.spec
        for module, digest in payload.modules.items():
            found = source_digest(module)
            if found is None:
                yield f"{module} ({spec.name}) cannot be imported: install what holds it on the workers"
            elif found != digest:
                yield f"{module} ({spec.name}) is {found[:12]}, and {digest[:12]} for this run: update it"
            if found != digest:
                return
        folder = unpack(payload.files, self._bundles)
        adapters = {place: replace(each, folder=str(folder / place)) for place, each in spec.adapters.items()}
        self._crews[spec.name] = payload.kind, payload.kind.build(spec.with_adapters(adapters))

    def _note_shown(self, instance: Instance, pull_request: PullRequest) -> None:
        self._seen[instance.id] = pull_request

    def _warn(self, sentence: str) -> None:
        self.send({"warning": f"worker {self.name}: {sentence}"})

    def _make_run_context(self) -> RunContext:
        plan, secrets = self.plan, secrets_of(self.plan.models)
        store = RemoteStore(store_folder(), self, self._warn, secrets=secrets)
        self.models = Gateway(
            lambda: self._run.folder / "gateway",
            plan.models,
            cassettes=Path(plan.models.cassettes) if plan.models.cassettes else store.folder / "cassettes",
            ledgers=store.folder / "ledger",
            replay=plan.replay,
        )
        self._stack.callback(self.models.close)
        problem = bubblewrap.problem()
        return RunContext(
            runtime=self._make_runtime(store.cache, problem),
            store=store,
            cache=store.cache,
            run=self._run,
            resume=plan.resume,
            proof_runs=plan.proof_runs,
            certified_runs=lambda instance, _contents: self._certified.get(instance.id, 0),
            fresh=plan.fresh,
            no_sandbox=problem,
            settings=plan.runtime,
            attribute=plan.attribute,
            explain=plan.explain,
            seen=self._note_shown,
            versions={**versions_here(plan.shard), "worker": self.name},
            models=self.models,
            secrets=secrets,
        )

    def _make_runtime(self, cache: Path, problem: str | None) -> Runtime:
        """Make the runtime that is named for the run, else what suits this machine, and what watches its disk.

        ``problem`` is why there is no sandbox. Raises EngineError, BadInput.
        """
        settings, dockerfiles = self.plan.runtime, self.plan.dockerfiles
        wanted = settings.runtime if settings.runtime != "auto" else os.environ.get(RUNTIME) or "auto"
        base = os.environ.get(BASE_IMAGE) or settings.base_image
        settings = runtimes.choose(replace(settings, runtime=wanted, base_image=base))
        self.place = Place(runtime=settings.runtime, base_image=settings.base_image)
        rootdir = self._bundles if dockerfiles is None else unpack(dockerfiles, self._bundles)
        runtime = runtimes.make(settings, rootdir=rootdir, cache=cache, unconfined=problem is not None)
        self._stack.callback(runtime.close)
        if problem is not None and settings.runtime == "local":  # said once for all workers that have the same
            self.send({"warning": f"there are workers that run code without a sandbox: {problem}"})
        self._disk = DiskOfTrials(disk_budget(), settings.runtime, cache, getattr(runtime, "holds", None), self._warn)
        self._stack.callback(self._disk.close)
        try:
            runtime.sweep()
        except (CrabError, OSError) as error:  # what dead runs left does not keep this one from running
            self._warn(f"what earlier runs left could not be removed: {error}")
        return runtime


class _Notices:
    """Tells the controller of a trial's steps; under a budget it has to note one that asks models before that begins.

    Called with a step, raises Cancelled if the controller has given this worker up or does not answer: what the step
    costs might be counted nowhere.
    """

    def __init__(self, run: WorkerRun, key: str, asking: Sequence[str]) -> None:
        self._asking = asking
        self._run = run
        self._key = key
        self._last = ""

    def __call__(self, step: str) -> None:
        message = {"key": self._key, "notice": step}
        goes_on = self._last == f"{step}{FOR_A_SLOT}"
        self._last = step
        if self._run.plan.budget is None or step not in self._asking or goes_on:
            self._run.note(message)
        elif not self._run.call(message):
            raise Cancelled("the run has given this worker up, or cannot be reached")
