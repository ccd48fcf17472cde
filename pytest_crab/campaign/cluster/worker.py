"""The functions that Dask calls in a worker: handshake, run a trial, disconnect."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import threading
import time
import uuid
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from distributed import Client
from distributed import Queue
from distributed import Worker
from distributed import WorkerPlugin
from distributed import get_client
from distributed import get_worker
from distributed.client import ClosedClientError

from pytest_crab.campaign.cluster.messages import CrewPayload
from pytest_crab.campaign.cluster.messages import Release
from pytest_crab.campaign.cluster.messages import RunPlan
from pytest_crab.campaign.cluster.messages import TrialTask
from pytest_crab.campaign.cluster.messages import from_json
from pytest_crab.campaign.cluster.worker_run import WorkerRun
from pytest_crab.campaign.cluster.worker_run import remove_leftovers
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError

#: The name of this process for controllers, which tell two processes at one address apart by it.
UID = uuid.uuid4().hex[:16]

#: Seconds: between two looks at what runs here, and until a message must have left and an answer must be there.
_LOOK, _ANSWER = 0.5, 30.0

_PLUGIN = "pytest-crab"

#: How many trials of a run Dask may give to a worker that has taken the run; its slots are fewer.
_ROOM = 1e6

#: The errors of a Dask client whose scheduler is gone.
LOST = (
    *(OSError, RuntimeError, TimeoutError, asyncio.TimeoutError, asyncio.CancelledError),
    *(concurrent.futures.CancelledError, ClosedClientError),
)


class DaskController:
    """A remote_store.Controller behind the queue of messages of a run."""

    def __init__(self, client: Client, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._queue = Queue(topic, client=client)

    def send(self, message: Mapping[str, Any]) -> None:
        """See remote_store.Controller; the scheduler has the message when this returns."""
        with contextlib.suppress(KeyError, *LOST):  # KeyError: of a scheduler that is a new one
            self._queue.put(json.dumps({"uid": UID, **message}), callback_timeout=_ANSWER)

    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """See remote_store.Controller; the answer comes in a queue of its own."""
        with contextlib.suppress(KeyError, *LOST):
            answers = Queue(f"{self._topic}-{uuid.uuid4().hex}", client=self._client)
            try:
                self.send({"call": answers.name, **message})
                found: Mapping[str, Any] = answers.get(timeout=_ANSWER, callback_timeout=2 * _ANSWER)
                return found
            finally:
                answers.close()
        return {}

    def close(self) -> None:
        """Leave the queue."""
        with contextlib.suppress(*LOST):
            self._queue.close()


#: The runs that this process takes part in.
RUNS: dict[str, WorkerRun] = {}


def here() -> str:
    """Return the release of this process; the scheduler is asked, which has to know this module."""
    return str(Release.here())


class Closer(WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """A Dask plugin that ends what a worker has made when it ends."""

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - there is one in a process
        """See WorkerPlugin."""
        for run in list(RUNS):
            await asyncio.to_thread(_drop, run, patience=10)


async def handshake(
    plan: str, crews: Sequence[str], contents: Mapping[str, bytes], dask_worker: Worker
) -> dict[str, Any]:
    """Take part in a run, if this worker can; the answer says who this is, and what is in the way."""
    if _PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(plugin=Closer(), name=_PLUGIN)
    told = json.loads(plan)
    release = Release.here()
    found = {"uid": UID, "version": release.version, "harness": release.harness, "problems": []}
    if told.get("release") == {"version": release.version, "harness": release.harness}:
        found["problems"] = await asyncio.to_thread(_take, plan, crews, contents, dask_worker)
        if not found["problems"]:
            await dask_worker.set_resources(**{from_json(RunPlan, plan).topic: _ROOM})
    return found


def _take(text: str, crews: Sequence[str], contents: Mapping[str, bytes], worker: Worker) -> list[str]:
    """Take part in a run, or return sentences on what is in the way, without the worker's name."""
    plan = from_json(RunPlan, text)

    def connect() -> DaskController:
        controller = DaskController(get_client(), plan.topic)
        threading.Thread(target=_watch, args=(run, worker), name="crab-watch", daemon=True).start()
        return controller

    try:
        remove_leftovers()
        run = RUNS[plan.run] = WorkerRun(plan, str(worker.name), connect)
    except (CrabError, OSError) as error:
        return [" ".join(str(error).split())]
    problems = list(run.prepare([from_json(CrewPayload, crew) for crew in crews], contents))
    if problems:
        _drop(plan.run)
    return problems


def _drop(run: str, patience: float = 60.0) -> None:
    """End all that runs here for a run, and leave nothing of it."""
    found = RUNS.pop(run, None)
    if found is not None:
        found.close(patience)


def run_trial(task: str, files: bytes) -> str:
    """Run one trial; the answer is {"trial", ...} or {"broken": a sentence}."""
    worker = get_worker()
    try:
        asked = from_json(TrialTask, task)
        run = RUNS.get(asked.run)
        if run is None:
            raise Cancelled("the run was stopped there")
        answer = run.perform(asked, files)
    except CrabError as error:
        answer = {"broken": f"worker {worker.name}: {error}"}
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        answer = {"broken": f"worker {worker.name} failed ({what}): mend it and run again"}
    return json.dumps(answer)


async def disconnect(run: str, topic: str, dask_worker: Worker) -> None:
    """End all that runs here for a run, and leave nothing of it."""
    await dask_worker.set_resources(**{topic: 0})
    await asyncio.to_thread(_drop, run)


def _watch(run: WorkerRun, worker: Worker) -> None:
    """Send what is booked, and stop the run here once its trials are wanted no more: the controller is gone, or stops.

    A trial that has just ended is unknown to Dask too; so one counts that runs still, and is unwanted at two looks.
    """
    unwanted: set[str] = set()
    while not run.stopped:
        time.sleep(_LOOK)
        run.send_ledger()
        before = unwanted
        unwanted = {key for key in tuple(run.keys) if _is_unwanted(worker, key)} & run.keys
        if unwanted & before:
            run.stop()
            _drop(run.plan.run)


def _is_unwanted(worker: Worker, key: str) -> bool:
    task = worker.state.tasks.get(key)
    return task is None or task.state in ("cancelled", "released", "forgotten")
