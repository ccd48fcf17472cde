"""What runs inside a Dask worker: it is greeted, receives files, performs trials, and is sent home."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import queue
import threading
import time
import uuid
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distributed import Queue
from distributed import Worker
from distributed import WorkerPlugin
from distributed import get_client
from distributed import get_worker
from distributed.client import ClosedClientError

from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.bench import Bench
from pytest_crab.campaign.cluster.bench import build_crew
from pytest_crab.campaign.cluster.bench import runtime_of
from pytest_crab.campaign.cluster.disk import disk_budget
from pytest_crab.campaign.cluster.plan import Release
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.plan import mismatch
from pytest_crab.campaign.cluster.plan import source_digest
from pytest_crab.campaign.cluster.plan import understood
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.runs import is_dead
from pytest_crab.runtimes.runs import remove_folder
from pytest_crab.scratch import machine_folder

#: What this process is called by controllers, which tell two processes at one address apart by it.
UID = uuid.uuid4().hex[:16]

#: Seconds between two looks at whether the controller still wants what runs here.
_LOOK = 0.5

_PLUGIN = "pytest-crab"

#: What a scheduler that is gone shows itself as.
LOST = (
    *(OSError, RuntimeError, TimeoutError, asyncio.TimeoutError, asyncio.CancelledError),
    *(concurrent.futures.CancelledError, ClosedClientError),
)


class Home:
    """What this process has made: benches by run, and the folder that bundles are unpacked in."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.benches: dict[str, Bench] = {}
        self.over: set[str] = set()
        self._needed: dict[str, set[str]] = {}
        self._run = Run()

    @property
    def unpacked(self) -> Path:
        """The folder of bundles of this process; no store and no scratch, so that contestants may be shown parts.

        It stays as long as a run needs one of them.
        """
        folder = _bundles() / self._run.id
        assert self._run.folder.is_dir()  # from now on this process is known to live
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        return folder

    def sweep(self) -> None:
        """Remove the bundles of dead processes."""
        for folder in _bundles().iterdir() if _bundles().is_dir() else ():
            if is_dead(folder.name):
                with contextlib.suppress(FileNotFoundError):  # another process is at it too
                    remove_folder(folder)

    def unpack(self, run: str, contents: Mapping[str, bytes]) -> None:
        """Unpack files that trials of a run need, unless it is over. Raises BadInput, OSError."""
        with self.guard:
            if run in self.over:
                return
            self._needed.setdefault(run, set()).update(contents)
        for digest, content in contents.items():
            bundles.unpack(digest, content, self.unpacked)

    def drop(self, run: str) -> None:
        """Remove the files that no other run needs; without any run this process is not one of a living run."""
        with self.guard:
            gone = self._needed.pop(run, set()).difference(*self._needed.values())
            folder = _bundles() / self._run.id
            for digest in gone:
                remove_folder(folder / digest)
            if not self._needed:
                remove_folder(folder)
                self._run.close()
                self._run = Run()

    def take(self, run: str) -> Bench | None:
        """The bench of a run, which is then nobody's any more: this process does nothing more for it."""
        with self.guard:
            self.over.add(run)
            return self.benches.pop(run, None)

    def close(self) -> None:
        """End all and leave nothing."""
        for run in list(self.benches):
            bench = self.take(run)
            if bench is not None:
                bench.close(patience=10)
        remove_folder(_bundles() / self._run.id)
        self._run.close()


HOME = Home()


def steps_of(plan: RunPlan) -> str:
    """The queue in which workers tell the controller of finished steps."""
    return f"{plan.topic}-steps"


def here() -> str:
    """Say that this module is to be had, and of which version; the scheduler is asked so."""
    return str(Release.here())


def _bundles() -> Path:
    return machine_folder() / "bundles"


class Closer(WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """Ends what a worker has made when it ends."""

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - there is one in a process
        """See WorkerPlugin."""
        await asyncio.to_thread(HOME.close)


async def greet(plan: str, crews: Sequence[str], contents: Mapping[str, bytes], dask_worker: Worker) -> dict[str, Any]:
    """Say who this is, and what would keep it from running trials of this plan with these crews."""
    if _PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(plugin=Closer(), name=_PLUGIN)
    told = json.loads(plan)
    release = Release.here()
    found = {"uid": UID, "version": release.version, "harness": release.harness, "problems": []}
    if told.get("release") == {"version": release.version, "harness": release.harness}:
        found["problems"] = await asyncio.to_thread(_problems, plan, crews, contents)
    return found


def _problems(plan: str, crews: Sequence[str], contents: Mapping[str, bytes]) -> list[str]:
    """Sentences on what would not work here, without the worker's name."""
    problems = []
    try:
        HOME.sweep()
        run = understood(RunPlan, plan)
        HOME.unpack(run.run, contents)
        problems += [problem for crew in crews for problem in _faults(understood(ShippedCrew, crew))]
        disk_budget()
        runtime_of(run)
    except (CrabError, OSError) as error:
        problems.append(" ".join(str(error).split()))
    if problems:
        HOME.drop(json.loads(plan)["run"])
    return problems


def _faults(crew: ShippedCrew) -> list[str]:
    """Why a crew cannot be built here as it is on the controller."""
    faults = []
    for module, digest in crew.modules.items():
        found = source_digest(module)
        if found is None:
            faults.append(f"{module} ({crew.spec.reviewer}) cannot be imported: install what holds it on the workers")
        elif found != digest:
            faults.append(f"{module} ({crew.spec.reviewer}) is {found[:12]}, and {digest[:12]} for this run: update it")
    if not faults:
        try:
            build_crew(crew, HOME.unpacked)
        except CrabError as error:
            faults.append(" ".join(str(error).split()))
    return faults


def receive(run: str, digest: str, content: bytes) -> str:
    """Unpack files that trials of a run will need here."""
    HOME.unpack(run, {digest: content})
    return digest


def perform(task: str, *_received: str) -> str:
    """Run one trial; the answer is one of {"trial", ...}, {"refused"}, {"lacking"}, {"broken"} and {"stopped"}."""
    told = json.loads(task)
    here, release = Release.here(), told["run"]["release"]
    name = str(get_worker().name)
    if release != {"version": here.version, "harness": here.harness}:
        return json.dumps({"refused": f"worker {name}: {mismatch(here, Release(**release))}"})
    try:
        asked = understood(Task, task)
        needed = () if asked.run.run in HOME.over else (asked.bundle, asked.crew.bundle)
        lacking = [each for each in needed if not (HOME.unpacked / each).is_dir()]
        answer: dict[str, Any] = {"lacking": lacking} if lacking else _bench(asked.run).perform(asked)
    except Cancelled:
        answer = {"stopped": True}
    except CrabError as error:
        answer = {"broken": f"worker {name}: {error}"}
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        answer = {"broken": f"worker {name} failed ({what}): mend it and run again"}
    return json.dumps({**answer, "uid": UID})


async def farewell(run: str) -> None:
    """End all that runs here for a run, and leave nothing of it."""
    bench = HOME.take(run)
    if bench is not None:
        await asyncio.to_thread(bench.close)
    await asyncio.to_thread(HOME.drop, run)


def _bench(plan: RunPlan) -> Bench:
    """The bench of a run, made by the first of its trials. Raises Cancelled if the run was stopped here."""
    with HOME.guard:
        if plan.run in HOME.over:
            raise Cancelled("the run was stopped on this worker")
        bench = HOME.benches.get(plan.run)
        if bench is None:
            worker = get_worker()

            def tell(message: Mapping[str, Any]) -> None:
                worker.log_event(plan.topic, {"uid": UID, **message})

            answers = Queue(f"{plan.topic}-{UID}", client=get_client())
            steps = Queue(steps_of(plan), client=get_client())
            outgoing: queue.SimpleQueue[str | None] = queue.SimpleQueue()
            sending = threading.Thread(target=_send, args=(outgoing, steps), name="crab-steps", daemon=True)
            sending.start()

            def share(message: Mapping[str, Any]) -> None:
                outgoing.put(json.dumps({"uid": UID, **message}))

            def closed() -> None:
                outgoing.put(None)
                sending.join(10)
                with contextlib.suppress(*LOST):
                    answers.put({"over": True}, timeout=5, callback_timeout=5)

            bench = HOME.benches[plan.run] = Bench(plan, str(worker.name), HOME.unpacked, tell, share, closed)
            threading.Thread(target=_listen, args=(bench, answers), name="crab-answers", daemon=True).start()
            threading.Thread(target=_watch, args=(bench, worker), name="crab-watch", daemon=True).start()
        return bench


def _send(outgoing: queue.SimpleQueue[str | None], steps: Queue) -> None:
    """Send what there is to say of finished steps, so that no trial waits for a network."""
    while (text := outgoing.get()) is not None:
        with contextlib.suppress(KeyError, *LOST):  # KeyError: of a scheduler that is a new one
            steps.put(text, timeout=20, callback_timeout=20)
    with contextlib.suppress(*LOST):
        steps.close()


def _listen(bench: Bench, answers: Queue) -> None:
    """Bring the controller's answers to the bench."""
    with contextlib.suppress(*LOST):  # the scheduler or the worker is gone
        while "over" not in (answer := answers.get()):
            bench.hear(answer)
        answers.close()


def _watch(bench: Bench, worker: Worker) -> None:
    """Stop the run here once nobody wants its trials any more: its controller is gone, or has cancelled them.

    A trial that has just ended is unknown too; so one counts that runs still, and is unwanted at two looks in a row.
    """
    unwanted: set[str] = set()
    while not bench.stopped:
        time.sleep(_LOOK)
        before = unwanted
        unwanted = {key for key in tuple(bench.keys) if _is_unwanted(worker, key)} & bench.keys
        if unwanted & before:
            bench.stop()
            HOME.take(bench.plan.run)
            bench.close()
            HOME.drop(bench.plan.run)


def _is_unwanted(worker: Worker, key: str) -> bool:
    task = worker.state.tasks.get(key)
    return task is None or task.state in ("cancelled", "released", "forgotten")
