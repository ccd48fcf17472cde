"""A run's place on a worker: its world, made once for all its trials here, and closed with the run or the worker."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_crab import plain
from pytest_crab import runtimes
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.disk import Disk
from pytest_crab.campaign.cluster.leasing import Counter
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.steps import SharedStore
from pytest_crab.errors import BadInput
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.instances import lock
from pytest_crab.models import Gateway
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.runs import Run
from pytest_crab.trial import Crew
from pytest_crab.trial import World
from pytest_crab.trial import run_trial
from pytest_crab.trial.world import secrets_of
from pytest_crab.trial.world import versions_here
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest

#: A worker's own settings: the folder of its store, its runtime, and its base image.
STORE, RUNTIME, BASE_IMAGE = "CRAB_STORE", "CRAB_RUNTIME", "CRAB_BASE_IMAGE"

#: Sends a message to the controller.
Tell = Callable[[Mapping[str, Any]], None]


def store_folder() -> Path:
    """Where this worker keeps finished steps: CRAB_STORE, else a folder in the user's cache."""
    named = os.environ.get(STORE)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(named) if named else Path(cache, "pytest-crab", "worker")).absolute()


def runtime_of(plan: RunPlan) -> str:
    """The runtime that trials of this run have here: what was named for the run, else what suits this machine.

    Raises EngineError where it cannot work.
    """
    wanted = plan.runtime if plan.runtime != "auto" else os.environ.get(RUNTIME) or "auto"
    return runtimes.choose(wanted, base=_base_image(plan)).name


def build_crew(shipped: ShippedCrew, unpacked: Path) -> Crew:
    """The crew from its spec and the files that came with it. Raises BadInput."""
    spec = shipped.spec
    folder = unpacked / shipped.bundle
    if not folder.is_dir():
        raise BadInput(spec.reviewer, ["its files are not on this worker"])
    return Crew.build(
        replace(
            spec,
            reviewer_spec=replace(spec.reviewer_spec, folder=str(folder / spec.reviewer_spec.folder)),
            agent_spec=replace(spec.agent_spec, folder=str(folder / spec.agent_spec.folder)),
        )
    )


class Bench:
    """One run on this worker; ``name`` is what the worker is called, ``unpacked`` the folder of unpacked bundles.

    ``tell`` sends notices and questions for money, ``share`` what is to be said of finished steps. ``closed`` is called
    when everything was given back, even where it could not be made.
    """

    def __init__(
        self, plan: RunPlan, name: str, unpacked: Path, tell: Tell, share: Tell, closed: Callable[[], None]
    ) -> None:
        self.plan = plan
        self.name = name
        self.keys: set[str] = set()
        self.stopped = False
        self._unpacked = unpacked
        self._tell = tell
        self._share = share
        self._guard = threading.Lock()
        self._idle = threading.Condition(self._guard)
        self._crews: dict[str, Crew] = {}
        self._seen: dict[str, PullRequest] = {}
        self._stack = ExitStack()
        self._stack.callback(closed)
        try:
            self.world = self._make_world()
        except BaseException:
            self._stack.close()
            raise

    def perform(self, task: Task) -> dict[str, Any]:
        """Run a trial: {"trial", and "pull_request" where one was shown}. Raises Cancelled once this was stopped."""
        crew = self._crew(task.crew)
        instance = bundles.read_instance(self._unpacked / task.bundle)
        found = lock.digest(instance)
        if found != task.instance:
            sentence = (
                f"worker {self.name} has {instance.id} as {found[:12]}, and the run has it as {task.instance[:12]}: "
                "use the same pytest-crab on both"
            )
            return {"refused": sentence}
        with self._guard:
            if self.stopped:
                raise Cancelled("the run was stopped on this worker")
            self.keys.add(task.key)

        def notice(step: str) -> None:
            self._tell({"key": task.key, "step": step})

        try:
            with self._disk.trial(instance.id):
                trial = run_trial(instance, crew, self.world, repeat=task.repeat, notice=notice)
        finally:
            with self._guard:
                self.keys.discard(task.key)
                self._idle.notify_all()
        seen = self._seen.pop(instance.id, None)  # each trial notes it again
        return {"trial": plain.dump(trial), **({} if seen is None else {"pull_request": plain.dump(seen)})}

    def hear(self, answer: Mapping[str, Any]) -> None:
        """Take what the controller answered to a question for money, or to what was said of steps."""
        if "steps" not in answer:
            self._counter.hear(answer)
        for each in answer.get("steps", ()):
            self._store.hear(each)

    def stop(self) -> None:
        """End everything that runs for the run; nothing of it starts any more."""
        with self._guard:
            self.stopped = True
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

    def _crew(self, shipped: ShippedCrew) -> Crew:
        key = plain.digest(shipped)
        with self._guard:
            if key not in self._crews:
                self._crews[key] = build_crew(shipped, self._unpacked)
            return self._crews[key]

    def _note(self, instance: Instance, pull_request: PullRequest) -> None:
        self._seen[instance.id] = pull_request

    def _warn(self, sentence: str) -> None:
        self._tell({"warning": f"worker {self.name}: {sentence}"})

    def _make_world(self) -> World:
        plan, stack = self.plan, self._stack
        cancelled, secrets = threading.Event(), secrets_of(plan.models)
        self._store = store = SharedStore(store_folder(), self._share, self._warn, secrets=secrets, cancelled=cancelled)
        run = Run()
        stack.callback(run.close)
        self._counter = Counter(run.folder / "leases.sock", self._tell)
        stack.callback(self._counter.close)
        cassettes = Path(plan.models.cassettes) if plan.models.cassettes else store.folder / "cassettes"
        models = Gateway(
            lambda: run.folder / "gateway",
            plan.models,
            cassettes=cassettes,
            ledgers=store.folder / "ledger",
            budget=plan.budget,
            replay=plan.replay,
            leases=run.folder / "leases.sock",
        )
        stack.callback(models.close)
        problem = bubblewrap.problem()
        runtime = self._make_runtime(store, problem)
        return World(
            runtime=runtime,
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
            cancelled=cancelled,
            versions={**versions_here(plan.shard), "worker": self.name},
            models=models,
            secrets=secrets,
        )

    def _make_runtime(self, store: SharedStore, problem: str | None) -> Runtime:
        """The runtime, which has cleaned up, and what watches its disk; ``problem`` is why no sandbox is to be had."""
        plan, name = self.plan, runtime_of(self.plan)
        rootdir = self._unpacked / plan.rootdir if plan.rootdir else self._unpacked
        runtime = runtimes.make(
            name, rootdir=rootdir, cache=store.cache, base=_base_image(plan), unconfined=problem is not None
        )
        self._stack.callback(runtime.close)
        if problem is not None and name == "local":  # said once for all workers that have the same
            self._tell({"warning": f"there are workers that run code without a sandbox: {problem}"})
        self._disk = Disk(name, store.cache, getattr(runtime, "holds", None), self._warn)
        self._stack.callback(self._disk.close)
        try:
            runtime.sweep()
        except (CrabError, OSError) as error:  # what dead runs left does not keep this one from running
            self._warn(f"what earlier runs left could not be removed: {error}")
        return runtime


def _base_image(plan: RunPlan) -> str:
    return os.environ.get(BASE_IMAGE) or plan.base_image
