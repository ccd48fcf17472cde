"""A run's Dask client: its workers, the tasks that it submits, and the messages that workers send."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import json
import logging
import pickle
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import dask
from distributed import Client, Future, Queue, Security

from pytest_crab import serialization
from pytest_crab.campaign.cluster import inert, worker
from pytest_crab.campaign.cluster.bundles import digest_of
from pytest_crab.campaign.cluster.plan import Handshake, Place, RunPlan, TrialAnswer, TrialTask, release
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.errors import EngineError

T = TypeVar("T")

#: The resource of a Dask worker that counts the trials it takes at a time.
RESOURCE = "crab"

#: Seconds: for a scheduler to be there and to answer, for workers to take a run.
THERE, ANSWER, HANDSHAKE = 10.0, 10.0, 120.0

#: Seconds for workers to end what they run for this run.
DISCONNECT = 90.0

#: How often Dask tries a task again that raised what no trial should.
_RETRIES = 2

#: The last text in the queue of messages.
_OVER = ""

#: Characters: a longer text is read beside the loop.
_LONG = 100_000

#: A task on the cluster.
RemoteFuture = Future


@dataclass(eq=False)
class WorkerState:
    """A worker as the controller knows it."""

    address: str
    name: str
    slots: int
    #: Another process at the same address has another one.
    incarnation: str
    #: Told by its handshake.
    uid: str = ""
    #: The same.
    place: Place | None = None

    @property
    def title(self) -> str:
        """Its name, and where it is unless that is its name."""
        return self.name if self.name == self.address else f"{self.name} ({self.address})"


class Connection:
    """A Dask client with the few things that a run asks of it; all but making and closing it belongs in its loop.

    Raises EngineError for a scheduler that cannot be reached.
    """

    def __init__(self, address: str, plan: RunPlan) -> None:
        self.address = address
        self._plan = plan
        self._over = asyncio.Event()
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"})
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is said in our own words
        _see_certificates(address)
        _unpickle_nothing()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._client = Client(address, set_as_default=False, timeout=THERE, name="pytest-crab")
        except (ValueError, *LOST) as error:
            reason = " ".join(str(error).split())
            sentence = (
                f"no Dask scheduler answers at {address} ({reason}): start one with dask scheduler, or name its address"
            )
            raise EngineError(sentence) from error
        try:  # to pass trials on it has to know this package
            self._client.run_on_scheduler(worker.here)
        except Exception as error:
            self._client.close(timeout=5)
            reason = " ".join(str(error).split())
            sentence = (
                f"the scheduler at {address} cannot pass trials on ({reason}): install {release()} beside it, as on "
                "the workers"
            )
            raise EngineError(sentence) from error
        self._messages = Queue(plan.topic, client=self._client)

    def spawn(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine in the client's loop; may be called from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._client.loop.asyncio_loop)

    def close(self) -> None:
        """Leave the cluster; one that is gone is left already. May be called from any thread but the loop's."""
        with contextlib.suppress(*LOST):
            self._messages.close()
            self._client.close(timeout=5)

    # --- workers ----------------------------------------------------------------------------------------------------

    async def find_workers(self) -> dict[str, WorkerState]:
        """Return the workers by address, as the scheduler knows them. Raises what LOST lists."""
        if self._client.status in ("closed", "closing"):
            raise OSError(self.gone_sentence())
        found = {}
        for address, facts in (await asyncio.wait_for(self._client.scheduler.identity(), ANSWER))["workers"].items():
            slots = min(int(facts["resources"].get(RESOURCE, 0)), int(facts["nthreads"]))
            name, incarnation = str(facts["name"]), str(facts["local_directory"])
            found[address] = WorkerState(address=address, name=name, slots=slots, incarnation=incarnation)
        return found

    async def handshake(self, addresses: Sequence[str]) -> Mapping[str, Any]:
        """Ask workers to take this run; return their answers, or errors, by address. Raises what LOST lists."""
        plan = pickle.dumps(self._plan)
        asked = self._client.run(worker.handshake, release(), plan, workers=list(addresses), on_error="return")
        try:
            answers = await asyncio.wait_for(asked, HANDSHAKE)
        except AssertionError as error:  # Dask's, of an error that is none
            return dict.fromkeys(addresses, error)
        return {address: _handshake(answer) for address, answer in answers.items()}

    async def disconnect(self, addresses: Sequence[str]) -> None:
        """Have workers end what they run for this run, and wait until they have. Raises what LOST lists."""
        if addresses:
            asked = self._client.run(worker.disconnect, self._plan.topic, workers=list(addresses), on_error="return")
            await asyncio.wait_for(asked, DISCONNECT)

    # --- tasks ------------------------------------------------------------------------------------------------------

    def put(self, bundle: bytes) -> Future:
        """Put files on a worker that has taken the run; Dask moves them from there."""
        key = f"crab-files-{digest_of(bundle)}"
        return self._client.submit(bytes, bundle, key=key, resources={self._plan.topic: 1})

    def submit(self, task: TrialTask, files: Future, number: int) -> Future:
        """Have a trial run by a worker that has taken the run; smaller numbers come first."""
        needs = {RESOURCE: 1, task.topic: 1}
        return self._client.submit(
            worker.run_trial, task, files, key=task.key, resources=needs, retries=_RETRIES, priority=-number, pure=False
        )

    async def outcome(self, future: Future, record: type) -> TrialAnswer | Exception | None:
        """Wait for a task; return its answer, or the error that it failed with. None: Dask has given it up.

        ``record`` is the class of what it is to bring.
        """
        try:
            answer = _read(TrialAnswer, await future.result())
            return answer if answer.trial is None else replace(answer, trial=_made(record, answer.trial))
        except asyncio.CancelledError:
            return None
        except Exception as error:  # noqa: BLE001 - any may be the task's own
            return error if future.status == "error" and getattr(error, "name", "") != "KilledWorker" else None

    async def cancel(self, futures: Sequence[Future]) -> None:
        """Have Dask run these no more; a cluster that is gone runs nothing."""
        with contextlib.suppress(*LOST):
            await self._client.cancel(list(futures), force=True)

    # --- messages ---------------------------------------------------------------------------------------------------

    async def answer(self, call: str, message: Mapping[str, Any]) -> None:
        """Answer a worker's call, the name of its queue and a number; one that is not answered is made again.

        The queue is the worker's to make and to close: a Queue here would make it, or hold it.
        """
        name = call.rpartition(":")[0]
        if name.startswith(f"{self._plan.topic}-"):
            with contextlib.suppress(*LOST):
                put = self._client.scheduler.queue_put(name=name, data={"call": call, "answer": dict(message)})
                await asyncio.wait_for(put, ANSWER)

    async def listen(self, hear: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Pass on each message that workers send, one by one in their order, until ``end_messages``."""
        while not self._over.is_set():
            try:
                texts = [await self._messages.get(), *await self._messages.get(batch=True)]
            except LOST:
                await asyncio.sleep(0.5)
                continue
            for text in texts:
                if text == _OVER:
                    self._over.set()
                    continue
                is_long = isinstance(text, str) and len(text) > _LONG
                for message in await asyncio.to_thread(_read_messages, text) if is_long else _read_messages(text):
                    await hear(message)

    async def end_messages(self) -> None:
        """Let ``listen`` pass on what was sent until now, and end."""
        with contextlib.suppress(*LOST):
            await self._messages.put(_OVER, callback_timeout=ANSWER)
            await asyncio.wait_for(self._over.wait(), ANSWER)
        self._over.set()

    def gone_sentence(self) -> str:
        """Return the sentence on a scheduler that does not answer any more."""
        return (
            f"the Dask scheduler at {self.address} does not answer any more: see that it runs and can be reached, "
            "and run again, finished steps are kept"
        )


def _unpickle_nothing() -> None:
    """See that this process makes no object of what comes by Dask, from now on and for all that uses Dask here.

    Dask has no setting for that: it reads each pickle that a message says is one. It has these names for the reader.
    """
    for module in ("distributed.protocol.pickle", "distributed.client"):
        importlib.import_module(module).loads = inert.loads  # type: ignore[attr-defined]
    Client._default_event_handlers = {}  # noqa: SLF001 - a worker's warning is unpickled by one of these


def _read(cls: type[T], text: Any) -> T:
    """Return a record that a worker sent as JSON. Raises ValueError."""
    return _made(cls, json.loads(text) if isinstance(text, str) else None)


def _made(cls: type[T], data: Any) -> T:
    """Return the record that plain data stands for. Raises ValueError."""
    problems: list[str] = []
    found = serialization.read(cls, data, problems) if isinstance(data, Mapping) else None
    if found is None or problems:
        raise ValueError(f"the worker's answer is none: {'; '.join(problems[:3]) or 'it is no JSON'}")
    return found


def _handshake(answer: Any) -> Handshake | Exception:
    """Return a worker's answer to a handshake, or the error in its place."""
    try:
        return answer if isinstance(answer, Exception) else _read(Handshake, answer)
    except (ValueError, RecursionError) as error:
        return error


def _read_messages(text: Any) -> list[Mapping[str, Any]]:
    """Return what a worker has put into the queue; a message without keys for what is none of ours."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    return [each if isinstance(each, dict) else {} for each in (found if isinstance(found, list) else [found])]


def _see_certificates(address: str) -> None:
    """See that the certificates of an encrypted address are there. Raises EngineError, which says what names them.

    A client that is made without them cannot even be closed.
    """
    if not address.startswith("tls://"):
        return
    why = "none is named"
    try:
        if Security().get_connection_args("client")["ssl_context"] is not None:
            return
    except OSError as error:
        why = " ".join(str(error).split())
    variables = ", ".join(f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY"))
    raise EngineError(f"{address} needs certificates ({why}): name files of the cluster's own in {variables}")
