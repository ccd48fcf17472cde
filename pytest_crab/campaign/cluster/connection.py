"""A run's Dask client: its workers, the tasks that it submits, and the messages that workers send."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import dask
from distributed import Client
from distributed import Future
from distributed import KilledWorker
from distributed import Queue
from distributed import Security

from pytest_crab.campaign.cluster import worker
from pytest_crab.campaign.cluster.bundles import digest_of
from pytest_crab.campaign.cluster.events import name_workers
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import TrialAnswer
from pytest_crab.campaign.cluster.plan import TrialTask
from pytest_crab.campaign.cluster.plan import release
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.errors import EngineError

#: The resource of a Dask worker that counts the trials it takes at a time.
RESOURCE = "crab"

#: Seconds: for a scheduler to be there and to answer, for workers to take a run, for the first of them to come.
THERE, ANSWER, HANDSHAKE, FIRST = 10.0, 10.0, 120.0, 30.0

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
    repositories: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """Its name, and where it is unless that is its name."""
        return self.name if self.name == self.address else f"{self.name} ({self.address})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshakes:
    """The workers that take the run, the addresses of those that do not, and sentences on why, each once."""

    workers: tuple[WorkerState, ...] = ()
    unfit: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()


class Connection:
    """A Dask client with the few things that a run asks of it; every method may be called from any thread.

    ``heard`` is given each message of a worker. Raises EngineError for a scheduler that cannot be reached.
    """

    def __init__(self, address: str, plan: RunPlan, heard: Callable[[Mapping[str, Any]], None]) -> None:
        self.address = address
        self._plan = plan
        self._heard = heard
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
        self._reader = threading.Thread(target=self._read, name="crab-messages", daemon=True)
        self._reader.start()

    # --- workers ----------------------------------------------------------------------------------------------------

    def find_workers(self) -> dict[str, WorkerState]:
        """Return the workers that offer slots, by address, as the scheduler knows them. Raises what LOST lists."""
        found = {}
        for address, facts in self._identity()["workers"].items():
            slots = min(int(facts["resources"].get(RESOURCE, 0)), int(facts["nthreads"]))
            if slots > 0:
                name, incarnation = str(facts["name"]), str(facts["local_directory"])
                found[address] = WorkerState(address=address, name=name, slots=slots, incarnation=incarnation)
        return found

    def first(self) -> Handshakes:
        """Wait for workers that take the run. Raises EngineError if none comes, offers slots, or takes the run."""
        deadline = time.monotonic() + FIRST
        start = f'dask worker {self.address} --nthreads 2 --resources "{RESOURCE}=2"'
        try:
            while not (found := self.find_workers()):
                count = len(self._identity()["workers"])
                if count:
                    raise EngineError(
                        f"none of the {count} workers of {self.address} offers {RESOURCE}, the trials that it takes "
                        f"at a time: start them as {start}"
                    )
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"no worker has come to {self.address} in {FIRST:.0f} seconds: start one as {start}"
                    )
                time.sleep(0.2)
            done = self.handshake(list(found.values()))
            if not done.workers:
                self.disconnect(list(found))
                raise EngineError("\n".join(done.refused))
        except LOST as error:
            raise EngineError(self.gone()) from error
        return done

    def handshake(self, workers: Sequence[WorkerState]) -> Handshakes:
        """Ask workers who they are and whether they take this run. Raises what LOST lists."""
        addresses = [each.address for each in workers]
        pickled = pickle.dumps(self._plan)
        answers = self._run(worker.handshake, release(), pickled, workers=addresses, seconds=HANDSHAKE)
        taken, unfit, refused = [], set(), defaultdict[str, list[str]](list)
        for each in workers:
            answer = answers.get(each.address)
            problems = _problems(answer)
            for problem in problems:
                refused[problem].append(each.title)
                unfit.add(each.address)
            if not problems:
                each.uid = answer["uid"]
                taken.append(each)
        sentences = tuple(f"{name_workers(names)}: {problem}" for problem, names in refused.items())
        return Handshakes(workers=tuple(taken), unfit=frozenset(unfit), refused=sentences)

    # --- tasks ------------------------------------------------------------------------------------------------------

    def put(self, bundle: bytes, address: str) -> Future:
        """Put files on the cluster, if it can be on this worker; Dask moves them from there."""
        key = f"crab-files-{digest_of(bundle)}"
        return self._client.submit(bytes, bundle, key=key, workers=[address], allow_other_workers=True)

    def submit(self, task: TrialTask, files: Future, number: int) -> Future:
        """Have a trial run by a worker that has taken the run; smaller numbers come first."""
        return self._client.submit(
            worker.run_trial,
            task,
            files,
            key=task.key,
            resources={RESOURCE: 1, task.topic: 1},
            retries=_RETRIES,
            priority=-number,
            pure=False,
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

    def _read(self) -> None:
        """Pass on what workers send, in its order, until the end."""
        texts: list[str] = []
        while _OVER not in texts and not self._closing.is_set():
            try:
                texts = [self._messages.get(), *self._messages.get(batch=True)]
            except LOST:
                self._closing.wait(0.5)
                continue
            for text in texts:
                if text != _OVER:
                    self._heard(json.loads(text))

    # --- the end ----------------------------------------------------------------------------------------------------

    def disconnect(self, addresses: Sequence[str]) -> None:
        """Have workers end what they run for this run, and wait until they have. Raises what LOST lists."""
        if addresses:
            self._run(worker.disconnect, self._plan.topic, workers=list(addresses), seconds=DISCONNECT)

    def close(self) -> None:
        """Read what is left of the messages and leave the cluster; one that is gone is left already."""
        try:
            self._messages.put(_OVER, callback_timeout=ANSWER)
            self._reader.join(ANSWER)
            self._closing.set()
            self._messages.close()
            self._client.close(timeout=5)
        except LOST:
            self._closing.set()

    def gone(self) -> str:
        """Return the sentence on a scheduler that does not answer any more."""
        return (
            f"the Dask scheduler at {self.address} does not answer any more: see that it runs and can be reached, "
            "and run again, finished steps are kept"
        )

    def _identity(self) -> Mapping[str, Any]:
        async def ask() -> Mapping[str, Any]:
            return dict(await asyncio.wait_for(self._client.scheduler.identity(), ANSWER))

        if self._client.status in ("closed", "closing"):
            raise OSError(self.gone())
        found: Mapping[str, Any] = self._client.sync(ask)
        return found

    def _run(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str], seconds: float) -> Any:
        """Call a function in workers; their answers, or errors, by address."""

        async def ask() -> Mapping[str, Any]:
            asked = self._client.run(function, *arguments, workers=workers, on_error="return", asynchronous=True)
            return dict(await asyncio.wait_for(asked, seconds))

        return self._client.sync(ask)


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


def _problems(answer: Any) -> list[str]:
    """Return why a worker is refused, without its name; its answer is a handshake's, or the error it failed with."""
    if not isinstance(answer, dict):
        why = " ".join(str(answer or "nothing came").split())
        return [f"no answer that could be read ({why}): install {release()} there"]
    if answer["release"] != release():
        return [f"{answer['release']} is installed, and this run has {release()}: install the same version on both"]
    return list(answer["problems"])
