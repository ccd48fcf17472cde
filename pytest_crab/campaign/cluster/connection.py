"""The way to a Dask cluster: who its workers are, whether they can take this run, and what is sent to them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client
from distributed import Future
from distributed import Queue
from distributed import Security

from pytest_crab.campaign.cluster import worker
from pytest_crab.campaign.cluster.bundles import Bundle
from pytest_crab.campaign.cluster.news import workers
from pytest_crab.campaign.cluster.plan import RESOURCE
from pytest_crab.campaign.cluster.plan import Release
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.plan import mismatch
from pytest_crab.campaign.cluster.plan import written
from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.steps import Desk
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.errors import EngineError

#: Seconds: for a scheduler to be there and to answer, for workers to say who they are, for the first of them to come.
THERE, ANSWER, GREETING, FIRST = 10.0, 10.0, 120.0, 30.0

#: Seconds: for workers to end what they run for this run, and then for the steps that they gave to be kept.
FAREWELL, KEEPING = 90.0, 10.0

#: What is the last thing in the queue of steps.
_OVER = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeted:
    """The workers that may take trials, the addresses of those that may not, and sentences on why, each once."""

    members: tuple[Member, ...]
    unfit: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()


class Connection:
    """A Dask client with the few things that are asked of it; every method may be called from any thread.

    ``told`` hears each message of a worker, ``desk`` those on finished steps. Raises EngineError for a scheduler that
    cannot be reached.
    """

    def __init__(
        self,
        address: str,
        plan: RunPlan,
        crews: Sequence[ShippedCrew],
        contents: Mapping[str, bytes],
        told: Callable[[Mapping[str, Any]], None],
        desk: Desk,
    ) -> None:
        self.address = address
        self._plan = plan
        self._crews = [written(crew) for crew in crews]
        self._contents = contents
        self._queues: dict[str, Queue] = {}
        self._desk = desk
        self._guard = threading.Lock()
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
        self._see_scheduler()
        self._client.subscribe_topic(plan.topic, lambda event: told(event[1]))
        self._steps = Queue(worker.steps_of(plan), client=self._client)
        self._keeping = threading.Thread(target=self._keep, name="crab-steps", daemon=True)
        self._keeping.start()

    def _see_scheduler(self) -> None:
        """See that the scheduler can pass trials on, for which it has to know this package. Raises EngineError."""
        try:
            self._client.run_on_scheduler(worker.here)
        except Exception as error:
            self.close()
            why = " ".join(str(error).split())
            sentence = (
                f"the scheduler at {self.address} cannot pass trials on ({why}): "
                f"install {self._plan.release} beside it, as on the workers"
            )
            raise EngineError(sentence) from error

    # --- workers ----------------------------------------------------------------------------------------------------

    def seen(self) -> dict[str, Member]:
        """The workers that offer slots, by address, as the scheduler knows them. Raises what LOST lists."""
        found = {}
        for address, facts in self._identity()["workers"].items():
            slots = min(int(facts["resources"].get(RESOURCE, 0)), int(facts["nthreads"]))
            if slots > 0:
                name, incarnation = str(facts["name"]), str(facts["local_directory"])
                found[address] = Member(address=address, name=name, slots=slots, incarnation=incarnation)
        return found

    def first(self) -> Greeted:
        """Wait for workers and greet them. Raises EngineError if none comes, none offers slots, or all are refused."""
        deadline = time.monotonic() + FIRST
        try:
            while not (found := self.seen()):
                count = len(self._identity()["workers"])
                if count:
                    raise EngineError(
                        f"none of the {count} workers of {self.address} offers {RESOURCE}, the trials that it takes "
                        f'at a time: start them as dask worker {self.address} --nthreads 2 --resources "{RESOURCE}=2"'
                    )
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"no worker has come to {self.address} in {FIRST:.0f} seconds: start one as "
                        f'dask worker {self.address} --nthreads 2 --resources "{RESOURCE}=2"'
                    )
                time.sleep(0.2)
            greeted = self.greet(list(found.values()))
            if not greeted.members:
                self.farewell(list(found))
        except LOST as error:
            raise EngineError(self.gone()) from error
        if not greeted.members:
            raise EngineError("\n".join(greeted.refused))
        return greeted

    def greet(self, members: Sequence[Member]) -> Greeted:
        """Ask workers who they are and whether they can take this run. Raises what LOST lists."""

        async def ask() -> Mapping[str, Any]:
            asked = self._client.run(
                worker.greet,
                written(self._plan),
                self._crews,
                dict(self._contents),
                workers=[member.address for member in members],
                on_error="return",
                asynchronous=True,
            )
            return dict(await asyncio.wait_for(asked, GREETING))

        answers = self._client.sync(ask)
        welcome, refused = [], defaultdict[str, list[str]](list)
        for member in members:
            problems = _problems(answers.get(member.address), self._plan.release)
            for problem in problems:
                refused[problem].append(member.title)
            if not problems:
                member.uid = answers[member.address]["uid"]
                welcome.append(member)
        unfit = frozenset(member.address for member in members) - {member.address for member in welcome}
        sentences = tuple(f"{workers(names)}: {problem}" for problem, names in refused.items())
        return Greeted(members=tuple(welcome), unfit=unfit, refused=sentences)

    # --- trials -----------------------------------------------------------------------------------------------------

    def send(self, bundle: Bundle, address: str) -> Future:
        """Send files to a worker."""
        return self._client.submit(
            *(worker.receive, self._plan.run, bundle.digest, bundle.content),
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )

    def submit(self, task: Task, address: str, needs: Sequence[Future]) -> Future:
        """Have a worker run a trial once it has received what it needs."""
        return self._client.submit(
            worker.perform,
            written(task),
            *needs,
            key=task.key,
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
        )

    def cancel(self, futures: Sequence[Future]) -> None:
        """Have nobody run these any more; a cluster that is gone runs nothing."""
        try:
            if futures:
                self._client.cancel(list(futures), force=True)
        except LOST:
            return

    def answer(self, uid: str, message: Mapping[str, Any]) -> None:
        """Tell a worker's process something. Raises what LOST lists."""
        with self._guard:
            if uid not in self._queues:
                self._queues[uid] = Queue(f"{self._plan.topic}-{uid}", client=self._client)
        self._queues[uid].put(dict(message), timeout=ANSWER, callback_timeout=ANSWER)

    def _keep(self) -> None:
        """Bring what workers say of finished steps to the desk, and its answers back, until the end."""
        texts: list[str] = []
        while _OVER not in texts and not self._closing.is_set():
            try:
                texts = [self._steps.get(), *self._steps.get(batch=True)]
                for uid, answers in self._desk.hear(text for text in texts if text != _OVER).items():
                    self.answer(uid, {"steps": answers})
            except (KeyError, *LOST):  # who got no answer asks again; KeyError: of a scheduler that is a new one
                self._closing.wait(0.5)

    # --- the end ----------------------------------------------------------------------------------------------------

    def farewell(self, addresses: Sequence[str]) -> None:
        """Have these workers end what they run for this run, and wait until they have. Raises what LOST lists."""

        async def leave() -> None:
            asked = self._client.run(
                worker.farewell, self._plan.run, workers=list(addresses), on_error="return", asynchronous=True
            )
            await asyncio.wait_for(asked, FAREWELL)

        if addresses:
            self._client.sync(leave)
            self._steps.put(_OVER, timeout=ANSWER, callback_timeout=ANSWER)
            self._keeping.join(KEEPING)

    def close(self) -> None:
        """Leave the cluster; one that is gone is left already."""
        self._closing.set()
        try:
            for queue in self._queues.values():
                queue.close()
            self._client.close(timeout=5)
        except LOST:
            return

    def gone(self) -> str:
        """What is said of a scheduler that does not answer any more."""
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


def _problems(answer: Any, release: Release) -> list[str]:
    """Why a worker is refused, without its name; its answer is what it said of itself, or the error it failed with."""
    if not isinstance(answer, dict):
        why = " ".join(str(answer or "nothing came").split())
        return [f"no answer that could be read ({why}): install {release} there"]
    there = Release(version=str(answer["version"]), harness=str(answer["harness"]))
    if there != release:
        return [mismatch(there, release)]
    return list(answer["problems"])
