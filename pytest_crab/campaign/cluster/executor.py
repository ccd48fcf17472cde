"""The executor over a cluster: one thread that submits trials to Dask and hears what becomes of them."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections import Counter
from collections import deque
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Executor
from concurrent.futures import Future
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import TypeVar
from typing import cast

from pytest_crab import serialization
from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger
from pytest_crab.campaign.cluster.bundles import pack_instance
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.connection import Handshakes
from pytest_crab.campaign.cluster.connection import RemoteFuture
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.messages import RunPlan
from pytest_crab.campaign.cluster.messages import TrialTask
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.campaign.cluster.worker_events import WorkerEvents
from pytest_crab.campaign.cluster.workers import Workers
from pytest_crab.campaign.executor import Notice
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.errors import BadInput
from pytest_crab.errors import Cancelled
from pytest_crab.trial import unmeasured
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import Reason
from pytest_crab.types import Trial

R = TypeVar("R")

log = logging.getLogger(__name__)

#: How many workers a trial may be lost with until it is broken, and how often it is submitted anew.
MOST_LOST, MOST_TRIES = 3, 10

#: Seconds: between looks at the workers, without a word of the scheduler, without any worker.
LOOK, SILENT, ALONE = 1.0, 15.0, 60.0

#: Exceptions raised by malformed messages.
MALFORMED = (AttributeError, KeyError, TypeError, ValueError)

#: Hears of each trial that came back, with the pull request that it showed.
Heard = Callable[[TrialWork, Trial, "PullRequest | None"], None]


@dataclass(eq=False)
class _Job:
    """One trial that was asked for; ``place`` is the worker that runs it or has its files, ``lost`` names earlier ones.

    ``runs``: it has begun at that place.
    """

    number: int
    work: TrialWork
    notice: Notice
    future: Future[Trial] = field(default_factory=Future)
    remote: RemoteFuture | None = None
    key: str = ""
    tries: int = 0
    place: str = ""
    runs: bool = False
    lost: list[str] = field(default_factory=list)


@dataclass
class _Files:
    """An instance's files on the cluster; ``place`` is the worker where Dask was asked to put them."""

    digest: str
    future: RemoteFuture
    place: str


class ClusterExecutor(Executor):
    """A concurrent.futures.Executor whose work is TrialWork; what the cluster fails at is on the record as broken.

    ``check`` is given all that is about to be sent and raises BadInput for what must not be.
    """

    def __init__(
        self,
        connection: Connection,
        plan: RunPlan,
        budget: BudgetLedger,
        *,
        heard: Heard,
        check: Callable[[str, bytes], None],
        events: queue.SimpleQueue[tuple[Any, ...]],
    ) -> None:
        self.events = WorkerEvents()
        self.workers = Workers(connection, lambda *event: events.put(event))
        self._connection = connection
        self._plan = plan
        self._budget = budget
        self._heard = heard
        self._check = check
        self._inbox = events
        self._waiting: deque[_Job] = deque()
        self._submitted: dict[str, _Job] = {}
        self._files: dict[str, _Files] = {}
        self._of_instance: Counter[str] = Counter()
        self._count = 0
        self._gone: str | None = None
        self._answered_at = self._peopled_at = time.monotonic()
        self._answers = True
        self._over = False
        self._thread = threading.Thread(target=self._drive, name="crab-cluster", daemon=True)

    def start(self, done: Handshakes) -> None:
        """Begin, with these workers."""
        self._on_handshakes(frozenset(), done)
        self._thread.start()

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a trial run somewhere: ``fn`` is TrialWork, and the one argument is the notice of its steps.

        The future's result is always a record, unless the run is stopped.
        """
        work, (notice,) = cast("TrialWork", fn), (*args, *kwargs.values())
        self._count += 1
        job = _Job(self._count, work, notice)
        self._inbox.put(("submit", job))
        return cast("Future[R]", job.future)

    def stop(self) -> None:
        """End what runs; nothing starts any more."""
        self._inbox.put(("stop",))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Disconnect the workers, book what they still send, and close the connection."""
        self._inbox.put(("over",))
        if wait and self._thread.is_alive():
            self._thread.join()

    # --- the one thread ---------------------------------------------------------------------------------------------

    def _drive(self) -> None:
        looked = 0.0
        while not self._over:
            try:
                self._handle(timeout=max(0.0, looked + LOOK - time.monotonic()))
                if time.monotonic() >= looked + LOOK:
                    looked = time.monotonic()
                    self._look()
                self._submit_waiting()
            except Exception as error:  # whatever fails here, no trial may be waited for without end
                log.debug("the cluster's thread failed", exc_info=True)
                self._fail(f"the cluster's side of the run failed ({error!r}): run again, finished steps are kept")
        self._leave()

    def _handle(self, timeout: float) -> None:
        """Handle one event, if there is any."""
        try:
            kind, *rest = self._inbox.get(timeout=timeout)
        except queue.Empty:
            return
        getattr(self, f"_on_{kind}")(*rest)

    def _on_submit(self, job: _Job) -> None:
        self._of_instance[job.work.instance.id] += 1
        self._waiting.append(job)
        if self._gone is not None:
            self._break(job, self._gone)

    def _on_stop(self) -> None:
        jobs = self._jobs()
        self._connection.cancel([job.remote for job in jobs if job.remote is not None])
        for job in jobs:
            self._forget(job)
            if not job.future.cancel():
                job.future.set_exception(Cancelled("the run was stopped"))
        self._gone = "the run was stopped"

    def _on_over(self) -> None:
        self._over = True

    def _on_message(self, message: Mapping[str, Any]) -> None:
        """Take a worker's message: a warning, bookings, or a trial that begins, makes a step or ends."""
        try:
            if "warning" in message:
                self.events.add(str(message["warning"]))
                return
            uid = str(message["uid"])
            worker = next((each for each in self.workers.known.values() if each.uid == uid), None)
            if worker is not None:
                self._on_trial_message(worker, message)
            elif "call" in message:  # it is about to be taken in, and asks again; or its trials are with others
                self._connection.answer(str(message["call"]), {})
        except MALFORMED as error:
            self.events.add(f"a worker sent a malformed message ({error!r}), which was ignored: see the workers' logs")

    def _on_trial_message(self, worker: WorkerState, message: Mapping[str, Any]) -> None:
        if "entries" in message:
            for entry in message["entries"]:
                self._budget.book(worker.uid, worker.name, entry)
            return
        key = str(message["key"])
        job = self._submitted.get(key)
        if "end" in message:
            self._budget.end(worker.uid, key, short=bool(message["end"]))
        elif job is not None and "begin" in message:
            job.place, job.runs = worker.address, True
            worker.repositories.add(job.work.instance.repo)
            answer = self._budget.begin(worker.uid, key, str(message["begin"]))
            self._connection.answer(str(message["call"]), answer)
        elif job is not None:
            self._budget.note_step(worker.uid, key, str(message["notice"]))
            job.notice(str(message["notice"]))

    def _on_handshakes(self, addresses: frozenset[str], done: Handshakes) -> None:
        for sentence in done.refused:
            self.events.add(f"left out: {sentence}")
        self.workers.admit(addresses, done)

    def _on_done(self, key: str, remote: RemoteFuture) -> None:
        job = self._submitted.get(key)
        if job is None or id(job.remote) != id(remote):
            return
        if remote.status in ("cancelled", "lost"):  # the scheduler is gone, or has forgotten all: see _look
            self._again(job)
            return
        try:
            error = remote.exception(timeout=10) if remote.status == "error" else None
            answer = remote.result(timeout=10) if error is None else ""
        except LOST:  # its worker is gone, with the result
            self._again(job)
            return
        if error is None:
            self._conclude(job, answer)
        elif type(error).__name__ != "KilledWorker":
            self._break(job, f"worker {self._name(job)} failed ({error!r}): see its log, and run again")
        elif len(job.lost) < MOST_LOST:  # Dask counts workers too that were lost while the trial waited there
            self._again(job)
        else:
            names = ", ".join(job.lost)
            self._break(
                job, f"the trial was lost with {len(job.lost)} workers in turn ({names}): see their logs, run again"
            )

    def _conclude(self, job: _Job, text: str) -> None:
        """Read a worker's answer and end the trial with it."""
        try:
            answer = json.loads(text)
            if "broken" in answer:
                self._break(job, str(answer["broken"]))
                return
            problems: list[str] = []
            trial = serialization.read(Trial, answer["trial"], problems)
            shown = (
                serialization.read(PullRequest, answer["pull_request"], problems) if "pull_request" in answer else None
            )
        except MALFORMED as error:
            trial, shown, problems = None, None, [repr(error)]
        if trial is None or problems:
            self._break(job, f"worker {self._name(job)} sent a malformed answer ({problems[0]}): see its log")
        else:
            self._end(job, trial, shown)

    # --- workers that come and go -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """See which workers are there; a run without a scheduler or without workers comes to its end."""
        if self._gone is not None:
            return
        now = time.monotonic()
        try:
            lost = self.workers.look()
        except LOST:
            self._answers = False
            if time.monotonic() - self._answered_at > SILENT:
                self._fail(self._connection.gone())
            return
        self._answers, self._answered_at = True, now
        self._lose(lost)
        if self.workers.known or not self._of_instance.total():
            self._peopled_at = now
        elif now - self._peopled_at > ALONE:
            self._fail(f"no worker of {self._connection.address} is left: start some and run again")

    def _lose(self, lost: Sequence[WorkerState]) -> None:
        """Charge what lost workers had under way; Dask gives their trials to others."""
        found = [(worker, job) for worker in lost for job in self._running(worker)]
        if lost:
            self.events.add_lost([worker.name for worker in lost], len(found))
            for worker in lost:
                self._budget.lose(worker.uid, worker.name)
        for worker, job in found:
            job.runs = False
            job.lost.append(worker.name)
            job.notice(f"again after worker {worker.name}")

    def _running(self, worker: WorkerState) -> list[_Job]:
        return [job for job in self._submitted.values() if job.runs and job.place == worker.address]

    # --- trials -----------------------------------------------------------------------------------------------------

    def _submit_waiting(self) -> None:
        """Submit trials while a worker has a free slot; Dask keeps those at the worker that has their files.

        A trial whose worker is busy is submitted too, since it waits there or is taken by another that has nothing.
        """
        load = Counter(job.place for job in self._submitted.values())
        while self._answers and self._waiting and self.workers.free(load):
            job = self._waiting.popleft()
            if not job.future.running() and not job.future.set_running_or_notify_cancel():
                self._of_instance[job.work.instance.id] -= 1
                continue
            try:
                self._submit(job, load)
                load[job.place] += 1
            except LOST:
                self._answers = False
                self._again(job)
            except BadInput as error:
                self._break(job, " ".join(str(error).split()))

    def _submit(self, job: _Job, load: Counter[str]) -> None:
        instance, crew, repeat = job.work.instance, job.work.crew.spec.reviewer, job.work.repeat
        files = self._files_of(instance, load)
        digest = serialization.digest([instance.id, crew, repeat])[:8]
        job.key = f"crab-trial-{self._plan.run}-{job.number}-{digest}-{job.tries}"
        job.tries += 1
        job.place = files.place
        self._submitted[job.key] = job
        task = TrialTask(key=job.key, run=self._plan.run, crew=crew, bundle=files.digest, repeat=repeat)
        job.remote = remote = self._connection.submit(task, files.future, job.number)
        remote.add_done_callback(lambda done, key=job.key: self._inbox.put(("done", key, done)))

    def _files_of(self, instance: Instance, load: Counter[str]) -> _Files:
        """Put an instance's files on the cluster, at a free worker that has its repository if there is one.

        Raises BadInput for files that cannot be sent, and what LOST lists.
        """
        files = self._files.pop(instance.id, None)
        if files is None or files.place not in self.workers.known or files.future.status not in ("pending", "finished"):
            files = None  # Dask forgets a task of this name that has failed
            bundle = pack_instance(instance)
            self._check(instance.id, bundle.content)
            place = self.workers.prefer(instance.repo, load)
            files = _Files(bundle.digest, self._connection.put(bundle, place.address), place.address)
        self._files[instance.id] = files
        return files

    def _again(self, job: _Job) -> None:
        """Submit a trial anew that Dask has given up, or break it once that was often enough."""
        self._submitted.pop(job.key, None)
        job.remote, job.runs = None, False
        if job.tries < MOST_TRIES:
            self._waiting.appendleft(job)
        else:
            sentence = f"Dask gave the trial up {job.tries} times: see the logs of scheduler and workers, and run again"
            self._break(job, sentence)

    def _break(self, job: _Job, sentence: str) -> None:
        """Put a trial on the record as broken, with its reason."""
        work, plan = job.work, self._plan
        trial = unmeasured(
            work.instance,
            work.crew,
            Reason.BROKEN,
            sentence,
            repeat=work.repeat,
            runtime=plan.runtime,
            shard=plan.shard,
        )
        self._end(job, trial, None)

    def _end(self, job: _Job, trial: Trial, shown: PullRequest | None) -> None:
        self._forget(job)
        if not job.future.running() and not job.future.set_running_or_notify_cancel():
            return
        try:
            self._heard(job.work, trial, shown)
        except Exception as error:  # noqa: BLE001 - a hook's; it reaches who waits, as where trials run here
            job.future.set_exception(error)
        else:
            job.future.set_result(trial)

    def _forget(self, job: _Job) -> None:
        """Keep nothing of a job, nor of its instance's files once no other needs them."""
        if job in self._waiting:
            self._waiting.remove(job)
        self._submitted.pop(job.key, None)
        job.remote = None
        instance = job.work.instance.id
        self._of_instance[instance] -= 1
        if self._of_instance[instance] <= 0:
            del self._of_instance[instance]
            self._files.pop(instance, None)

    def _jobs(self) -> list[_Job]:
        """Return every job that is not done, in order."""
        return sorted([*self._waiting, *self._submitted.values()], key=lambda job: job.number)

    def _fail(self, sentence: str) -> None:
        """Break every trial that was asked for, and any that will be."""
        self._gone = sentence
        jobs = self._jobs()
        self._connection.cancel([job.remote for job in jobs if job.remote is not None])
        for job in jobs:
            self._break(job, sentence)

    def _name(self, job: _Job) -> str:
        worker = self.workers.known.get(job.place)
        return worker.name if worker is not None else job.place

    def _leave(self) -> None:
        """Disconnect the workers, hear their last bookings, and close everything."""
        try:
            if self._answers:
                self._connection.disconnect(list(self.workers.known))
        except LOST:
            log.debug("workers could not be told that the run is over; each sees so by itself")
        try:
            self._connection.close()
            while not self._inbox.empty():
                self._handle(timeout=0)
        finally:
            for worker in self.workers.known.values():
                self._budget.lose(worker.uid, worker.name)
