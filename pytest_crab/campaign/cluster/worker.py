"""Dask's side of a worker: the functions that it calls there, and the plugin that ends a run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import json
import pickle
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client, Queue, Worker, WorkerPlugin, get_worker
from distributed.client import ClosedClientError
from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.campaign.cluster.plan import Handshake, RunPlan, TrialAnswer, TrialTask, release
from pytest_crab.campaign.cluster.remote_store import Controller
from pytest_crab.campaign.cluster.worker_run import WorkerRun
from pytest_crab.errors import Cancelled, CrabError, describe_os_error
from pytest_crab.lazy import lazy

#: The name of this process for controllers, which tell two processes at one address apart by it.
UID = uuid.uuid4().hex[:16]

#: Seconds until a message must have left and an answer must be there.
_ANSWER = 30.0

#: Seconds until a message that goes along with the next one goes alone.
_NOTED = 0.2

#: Seconds for trials to end where the worker ends, perhaps since the scheduler does not answer them.
_PATIENCE = 10.0

#: How many trials of a run Dask may give to a worker that has taken the run; its slots are fewer.
_ROOM = 1e6

#: The errors of a Dask client whose scheduler is gone. KeyError: it is a new one, which does not know a queue.
#: AttributeError: the client has given up, and has None for its scheduler.
LOST = (
    *(OSError, RuntimeError, TimeoutError, asyncio.TimeoutError, asyncio.CancelledError),
    *(concurrent.futures.CancelledError, ClosedClientError, KeyError, AttributeError),
)


class DaskController(Controller):
    """A remote_store.Controller behind the queue of messages of a run; connected once there is something to say."""

    def __init__(self, worker: Worker, topic: str) -> None:
        self._worker = worker
        self._topic = topic
        self._noted: list[Mapping[str, Any]] = []
        self._guard = threading.Lock()
        self._turn = asyncio.Lock()  # one put at a time: Dask gives two at a time connections of their own
        self._calls = itertools.count(1)
        self._idle: list[Queue] = []  # the queues for answers that no call waits at now

    @lazy
    def _client(self) -> Client:
        address, security = self._worker.scheduler.address, self._worker.security
        return Client(address, security=security, set_as_default=False, name="worker")  # with the worker's certificate

    @lazy
    def _queue(self) -> Queue:
        return Queue(self._topic, client=self._client)

    @override
    def send(self, message: Mapping[str, Any]) -> bool:
        """The scheduler has the message when this returns True."""
        try:
            self._client.sync(self._put, self._queue, message, callback_timeout=_ANSWER)
        except LOST:
            return False
        return True

    @override
    def note(self, message: Mapping[str, Any]) -> None:
        with self._guard:
            self._noted.append(message)
        with contextlib.suppress(*LOST):
            queue, loop = self._queue, self._client.loop
            loop.add_callback(loop.call_later, _NOTED, self._put_noted, queue)

    @override
    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """One call at a time waits at a queue for answers; it knows its own by its number."""
        with contextlib.suppress(*LOST):
            with self._guard:
                answers = self._idle.pop() if self._idle else None
            if answers is None:
                answers = Queue(f"{self._topic}-{uuid.uuid4().hex}", client=self._client)
            try:
                call = f"{answers.name}:{next(self._calls)}"
                self.send({"call": call, **message})
                while (found := answers.get(timeout=_ANSWER, callback_timeout=2 * _ANSWER)).get("call") != call:
                    pass  # it came too late for whoever asked, or twice
                answer: Mapping[str, Any] = found["answer"]
            except BaseException:
                answers.close()  # the scheduler may still wait for an answer here, and would take the next one
                raise
            self._idle.append(answers)
            return answer
        return {}

    def close(self) -> None:
        """Leave the queues and the scheduler."""
        if "_queue" in vars(self):
            with contextlib.suppress(*LOST):
                for queue in (self._queue, *self._idle):
                    queue.close()
                self._client.close(timeout=5)

    async def _put_noted(self, queue: Queue) -> None:
        with contextlib.suppress(*LOST):
            await asyncio.wait_for(self._put(queue), _ANSWER)

    async def _put(self, queue: Queue, *messages: Mapping[str, Any]) -> None:
        """Put what is noted, and then messages, after all that was put before. Raises what LOST lists."""
        async with self._turn:
            with self._guard:
                noted, self._noted = self._noted, []
            try:
                if noted or messages:
                    await queue.put(self._text([*noted, *messages]))
            except BaseException:
                with self._guard:
                    self._noted[:0] = noted
                raise

    def _text(self, messages: Sequence[Mapping[str, Any]]) -> str:
        return json.dumps([{"uid": UID, "name": str(self._worker.name), **message} for message in messages])


class RunPlugin(WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """Ends a run on this worker with the worker.

    A trial that Dask cancels while it runs ends the run too: its controller is gone, or stops.
    """

    def __init__(self, run: WorkerRun) -> None:
        self.run = run

    @override
    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        if start == "executing" and finish in ("released", "cancelled") and key in self.run.keys:
            threading.Thread(target=self.run.close, name="crab-stop").start()

    @override
    async def teardown(self, worker: Worker) -> None:
        await asyncio.to_thread(self.run.close, _PATIENCE)


def here() -> str:
    """Return the release of this process; the scheduler is asked, which has to know this module."""
    return release()


async def handshake(wanted: str, pickled: bytes, dask_worker: Worker) -> str:
    """Take part in the run of a pickled plan, if this worker can and has the release that is wanted.

    The answer is a Handshake as JSON, as pytest unpickles nothing.
    """
    problems: list[str] = []
    place = None
    if release() == wanted:
        plan: RunPlan = pickle.loads(pickled)  # noqa: S301 - whoever reaches a worker of Dask runs code there
        run = WorkerRun(plan, str(dask_worker.name), DaskController(dask_worker, plan.topic))
        problems = await asyncio.to_thread(run.prepare)
        if problems:
            await asyncio.to_thread(run.close)
        else:
            place = run.place
            await dask_worker.plugin_add(plugin=RunPlugin(run), name=plan.topic)
            await dask_worker.set_resources(**{plan.topic: _ROOM})
    return serialization.canonical(Handshake(uid=UID, release=release(), problems=tuple(problems), place=place))


async def disconnect(topic: str, dask_worker: Worker) -> None:
    """End all that runs here for a run, and leave nothing of it."""
    await dask_worker.set_resources(**{topic: 0})
    plugin = dask_worker.plugins.get(topic)
    if plugin is not None:
        await asyncio.to_thread(plugin.run.close)
        await dask_worker.plugin_remove(name=topic)


def run_trial(task: TrialTask, files: bytes) -> str:
    """Run one trial of a run that this worker takes part in; its TrialAnswer as JSON."""
    return serialization.canonical(_trial_answer(task, files))


def _trial_answer(task: TrialTask, files: bytes) -> TrialAnswer:
    worker = get_worker()
    try:
        plugin = worker.plugins.get(task.topic)
        if plugin is None:
            raise Cancelled("the run was stopped there")
        answer: TrialAnswer = plugin.run.perform(task, files)
    except CrabError as error:
        return TrialAnswer(problem=f"worker {worker.name}: {error}")
    except OSError as error:
        return TrialAnswer(problem=f"worker {worker.name} {describe_os_error(error)}")
    return answer
