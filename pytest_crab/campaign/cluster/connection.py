"""A run's Dask client: its workers, the tasks that it submits, and the messages that workers send."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, Queue, Security

from pytest_crab.campaign.cluster import worker
from pytest_crab.campaign.cluster.bundles import digest_of
from pytest_crab.campaign.cluster.plan import RunPlan, TrialAnswer, TrialTask, release
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.errors import EngineError

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

#: A task on the cluster.
RemoteFuture = Future


@dataclass(eq=False)
class WorkerState:
    """A worker as the controller knows it; another process at the same address has another ``incarnation``."""

    address: str
    name: str
    slots: int
    incarnation: str
    uid: str = ""

    @property
    def title(self) -> str:
        """Its name, and where it is unless that is its name."""
        return self.name if self.name == self.address else f"{self.name} ({self.address})"


class Connection:
    """A Dask client with the few things that a run asks of it; every method may be called from any thread.

    Raises EngineError for a scheduler that cannot be reached.
    """

    def __init__(self, address: str, plan: RunPlan) -> None:
        self.address = address
        self._plan = plan
        self._reader: threading.Thread | None = None
        self._closing = threading.Event()
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"})
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is said in our own words
        _see_certificates(address)
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

    # --- workers ----------------------------------------------------------------------------------------------------

    def find_workers(self) -> dict[str, WorkerState]:
        """Return the workers that offer slots, by address, as the scheduler knows them. Raises what LOST lists."""
        found = {}
        for address, facts in self.identity()["workers"].items():
            slots = min(int(facts["resources"].get(RESOURCE, 0)), int(facts["nthreads"]))
            if slots > 0:
                name, incarnation = str(facts["name"]), str(facts["local_directory"])
                found[address] = WorkerState(address=address, name=name, slots=slots, incarnation=incarnation)
        return found

    def handshake(self, addresses: Sequence[str]) -> Mapping[str, Any]:
        """Ask workers to take this run; return their answers, or errors, by address. Raises what LOST lists."""
        plan = pickle.dumps(self._plan)
        return self._run(worker.handshake, release(), plan, workers=addresses, seconds=HANDSHAKE)

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

    def outcome(self, future: Future) -> TrialAnswer | BaseException | None:
        """Return a task's answer, or the error that it failed with; None: Dask has given it up."""
        try:
            if future.status != "error":
                answer: TrialAnswer = future.result(timeout=ANSWER)
                return answer
            error: BaseException | None = future.exception(timeout=ANSWER)
        except LOST:
            return None
        return None if isinstance(error, KilledWorker) else error

    def cancel(self, futures: Sequence[Future]) -> None:
        """Have Dask run these no more; a cluster that is gone runs nothing."""
        try:
            if futures:
                self._client.cancel(list(futures), force=True)
        except LOST:
            return

    # --- messages ---------------------------------------------------------------------------------------------------

    def answer(self, call: str, message: Mapping[str, Any]) -> None:
        """Answer a worker's call; one that is not answered is made again."""
        try:
            answers = Queue(call, client=self._client)
            try:
                answers.put(dict(message), callback_timeout=ANSWER)
            finally:
                answers.close()
        except LOST:
            return

    def listen(self, hear: Callable[[Mapping[str, Any]], None]) -> None:
        """Pass on each message that workers send, in their order, in another thread until the end."""
        self._reader = threading.Thread(target=self._read, args=(hear,), name="crab-messages", daemon=True)
        self._reader.start()

    def _read(self, hear: Callable[[Mapping[str, Any]], None]) -> None:
        texts: list[str] = []
        while _OVER not in texts and not self._closing.is_set():
            try:
                texts = [self._messages.get(), *self._messages.get(batch=True)]
            except LOST:
                self._closing.wait(0.5)
                continue
            for text in texts:
                if text != _OVER:
                    hear(json.loads(text))

    # --- the end ----------------------------------------------------------------------------------------------------

    def disconnect(self, addresses: Sequence[str]) -> None:
        """Have workers end what they run for this run, and wait until they have. Raises what LOST lists."""
        if addresses:
            self._run(worker.disconnect, self._plan.topic, workers=list(addresses), seconds=DISCONNECT)

    def close(self) -> None:
        """Read what is left of the messages and leave the cluster; one that is gone is left already."""
        try:
            if self._reader is not None:
                self._messages.put(_OVER, callback_timeout=ANSWER)
                self._reader.join(ANSWER)
            self._closing.set()
            self._messages.close()
            self._client.close(timeout=5)
        except LOST:
            self._closing.set()

    def gone_sentence(self) -> str:
        """Return the sentence on a scheduler that does not answer any more."""
        return (
            f"the Dask scheduler at {self.address} does not answer any more: see that it runs and can be reached, "
            "and run again, finished steps are kept"
        )

    def identity(self) -> Mapping[str, Any]:
        """Return what the scheduler says of itself and its workers. Raises what LOST lists."""

        async def ask() -> Mapping[str, Any]:
            return dict(await asyncio.wait_for(self._client.scheduler.identity(), ANSWER))

        if self._client.status in ("closed", "closing"):
            raise OSError(self.gone_sentence())
        found: Mapping[str, Any] = self._client.sync(ask)
        return found

    def _run(
        self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str], seconds: float
    ) -> Mapping[str, Any]:
        """Call a function in workers; their answers, or errors, by address."""

        async def ask() -> Mapping[str, Any]:
            asked = self._client.run(function, *arguments, workers=workers, on_error="return", asynchronous=True)
            return dict(await asyncio.wait_for(asked, seconds))

        found: Mapping[str, Any] = self._client.sync(ask)
        return found


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
