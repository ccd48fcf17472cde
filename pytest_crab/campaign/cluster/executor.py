"""The executor over a cluster: one thread that submits trials to Dask and hears what becomes of them."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger, reserve_of
from pytest_crab.campaign.cluster.bundles import pack_instance
from pytest_crab.campaign.cluster.connection import Connection, RemoteFuture, WorkerState
from pytest_crab.campaign.cluster.plan import RunPlan, TrialTask, fill_plan, refuse_key
from pytest_crab.campaign.cluster.remote_store import StepServer
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.campaign.cluster.workers import Workers
from pytest_crab.campaign.trial_pool import Notice, TrialWork
from pytest_crab.errors import BadInput, Cancelled, EngineError
from pytest_crab.formats import format_count
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, unmeasured_trial
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import Instance, PullRequest, Reason, Trial

R = TypeVar("R")

log = logging.getLogger(__name__)

#: How many workers a trial may be lost with until it is broken, and how often it is submitted anew.
MOST_LOST, MOST_TRIES = 3, 10

#: Seconds between looks at the workers.
LOOK = 1.0

#: Is given each trial that came back, with the pull request that it showed.
Heard = Callable[[TrialWork, Trial, "PullRequest | None"], None]


@dataclass(eq=False)
class _Job:
    """One trial that was asked for; ``worker`` is the one that runs it, ``lost`` names earlier ones."""

    number: int
    work: TrialWork
    notice: Notice
    future: Future[Trial] = field(default_factory=Future)
    remote: RemoteFuture | None = None
    files: RemoteFuture | None = None
    key: str = ""
    tries: int = 0
    worker: WorkerState | None = None
    lost: list[str] = field(default_factory=list)


class ClusterExecutor(Executor):
    """A concurrent.futures.Executor whose work is TrialWork; a trial that the cluster fails at is recorded as broken.

    ``events`` are sentences for the terminal, ``steps`` answers what workers ask of the store.
    """

    def __init__(
        self,
        connection: Connection,
        workers: Workers,
        plan: RunPlan,
        *,
        budget: BudgetLedger,
        steps: StepServer,
        heard: Heard,
    ) -> None:
        self.workers = workers
        self.events = workers.events
        self._connection = connection
        self._plan = plan
        self._budget = budget
        self._steps = steps
        self._heard = heard
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._waiting: list[_Job] = []
        self._submitted: dict[str, _Job] = {}
        self._files: WeakValueDictionary[str, RemoteFuture] = WeakValueDictionary()
        self._count = 0
        self._gone: str | None = None
        self._over = False
        connection.listen(self.hear)
        self._thread = threading.Thread(target=self._drive, name="crab-cluster", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a trial run somewhere: ``fn`` is TrialWork, and the one argument is the notice of its steps.

        The future's result is always a record, unless the run is stopped.
        """
        work, (notice,) = cast("TrialWork", fn), (*args, *kwargs.values())
        self._count += 1
        job = _Job(self._count, work, notice)
        self._inbox.put(partial(self._accept, job))
        return cast("Future[R]", job.future)

    def stop(self) -> None:
        """End what runs; nothing starts any more."""
        self._inbox.put(self._stop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Disconnect the workers, book what they still send, and close the connection."""
        self._inbox.put(self._end_thread)
        if wait and self._thread.is_alive():
            self._thread.join()

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take a worker's message: a finished step is kept or looked up at once, the rest is for the one thread."""
        if "step" not in message or "entries" in message:
            self._inbox.put(partial(self._take, message))
        if "step" in message:
            answer = self._steps.answer(message)
            if "call" in message:
                self._connection.answer(str(message["call"]), answer)

    # --- the one thread ---------------------------------------------------------------------------------------------

    def _drive(self) -> None:
        looked = 0.0
        while not self._over:
            try:
                self._handle(timeout=max(0.0, looked + LOOK - time.monotonic()))
                if time.monotonic() >= looked + LOOK:
                    looked = time.monotonic()
                    self._look()
                while self.workers.answers and self._waiting and self.workers.known:
                    self._submit(self._waiting.pop(0))
            except Exception as error:  # whatever fails here, no trial may be waited for without end
                log.debug("the cluster's thread failed", exc_info=True)
                self._fail(f"the cluster's side of the run failed ({error!r}): run again, finished steps are kept")
        self._leave()

    def _handle(self, timeout: float) -> None:
        """Handle one event, if there is any."""
        with contextlib.suppress(queue.Empty):
            self._inbox.get(timeout=timeout)()

    def _accept(self, job: _Job) -> None:
        self._waiting.append(job)
        if self._gone is not None:
            self._break(job, self._gone)

    def _stop(self) -> None:
        for job in self._cancel():
            self._forget(job)
            if not job.future.cancel():
                job.future.set_exception(Cancelled("the run was stopped"))
        self._gone = "the run was stopped"

    def _end_thread(self) -> None:
        self._over = True

    def _take(self, message: Mapping[str, Any]) -> None:
        """Take a worker's message: a warning, bookings, or a trial that begins, makes a step or ends."""
        try:
            uid, key = message["uid"], message.get("key", "")
            for identity, entry in message.get("entries", {}).items():  # also a lost worker's: they are paid for
                self._budget.book(identity, uid, self.workers.name(uid), entry)
            worker, job = self.workers.find(uid), self._submitted.get(key)
            if "warning" in message:
                self.events.add(message["warning"])
            elif "end" in message:
                self._budget.end(uid, key, short=message["end"])
            elif "begin" in message:  # a worker that is about to be taken in asks again, and so does a lost one
                answer = {} if worker is None else self._begin(worker, job, message)
                self._connection.answer(message["call"], answer)
            elif "notice" in message:
                self._budget.note_step(uid, key, message["notice"])
                if "call" in message:
                    self._connection.answer(message["call"], {"noted": True} if worker is not None else {})
                if worker is not None and job is not None:
                    job.notice(message["notice"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.events.add(f"a worker sent a malformed message ({error!r}), which was ignored: see the workers' logs")

    def _begin(self, worker: WorkerState, job: _Job | None, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a worker that is to begin a trial: an allowance, to wait, or that it is unwanted."""
        if job is None or not _start(job.future):
            return {"unwanted": True}
        job.worker = worker
        return self._budget.begin(worker.uid, job.key, message["begin"])

    def _finish(self, key: str, remote: RemoteFuture) -> None:
        """Take a task's end: the trial with it, unless Dask has given the task up."""
        job = self._submitted.get(key)
        if job is None:
            return
        answer = self._connection.outcome(remote)
        if answer is None:
            self._again(job)
        elif isinstance(answer, BaseException):
            name = "" if job.worker is None else f" {job.worker.name}"
            self._break(job, f"worker{name} failed ({answer!r}): see its log, and run again")
        elif answer.trial is None:
            self._break(job, answer.problem or "the worker sent no trial: see its log, and run again")
        else:
            self._end(job, answer.trial, answer.shown)

    # --- workers that come and go -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Check which workers are connected; end a run without a scheduler or without workers."""
        if self._gone is not None:
            return
        try:
            lost = self.workers.look(needed=bool(self._waiting or self._submitted))
        except EngineError as error:
            self._fail(str(error))
            return
        if lost:
            self._lose(lost)

    def _lose(self, lost: list[WorkerState]) -> None:
        """Charge what lost workers had under way; Dask gives their trials to others."""
        jobs = [job for job in self._submitted.values() if job.worker in lost]
        self.events.add_lost([worker.name for worker in lost], len(jobs))
        for worker in lost:
            self._budget.lose(worker.uid, worker.name)
        for job in jobs:
            assert job.worker is not None
            job.lost.append(job.worker.name)
            job.notice(f"again after worker {job.worker.name}")
            job.worker = None

    # --- trials -----------------------------------------------------------------------------------------------------

    def _submit(self, job: _Job) -> None:
        """Give a trial to Dask, which runs it where its files are, or at a worker that has nothing else."""
        if job.future.cancelled():
            return
        job.tries += 1
        job.key = f"crab-trial-{self._plan.run}-{job.number}-{job.tries}"
        crew, repeat = job.work.crew.spec.reviewer, job.work.repeat
        self._submitted[job.key] = job  # from here on it is found, whatever fails
        task = TrialTask(key=job.key, topic=self._plan.topic, crew=crew, repeat=repeat)
        try:
            job.files = self._put_files(job.work.instance)
            job.remote = self._connection.submit(task, job.files, job.number)
            job.remote.add_done_callback(lambda done, key=job.key: self._inbox.put(partial(self._finish, key, done)))
        except LOST:
            self.workers.answers = False
            self._again(job)
        except BadInput as error:
            self._break(job, " ".join(str(error).split()))

    def _put_files(self, instance: Instance) -> RemoteFuture:
        """Put an instance's files on the cluster, unless another trial has. Raises BadInput and what LOST lists."""
        files = self._files.get(instance.id)
        if files is None or files.status not in ("pending", "finished"):  # Dask forgets one that has failed
            bundle = pack_instance(instance)
            refuse_key(instance.id, bundle, secrets_of(self._plan.models))
            files = self._files[instance.id] = self._connection.put(bundle)
        return files

    def _again(self, job: _Job) -> None:
        """Submit a trial anew that Dask has given up, or break it once that was often enough.

        Dask counts workers too that were lost while the trial waited there.
        """
        self._submitted.pop(job.key, None)
        job.remote = job.worker = None
        if len(job.lost) < MOST_LOST and job.tries < MOST_TRIES:
            self._waiting.append(job)
            return
        names = f", {len(job.lost)} workers were lost with it ({', '.join(job.lost)})" if job.lost else ""
        times = format_count(job.tries, "time")
        self._break(job, f"Dask gave the trial up {times}{names}: see the logs of scheduler and workers, and run again")

    def _break(self, job: _Job, sentence: str) -> None:
        """Put a trial on the record as broken, with its reason."""
        work, shard = job.work, self._plan.shard
        trial = unmeasured_trial(work.instance, work.crew, Reason.BROKEN, sentence, repeat=work.repeat, shard=shard)
        self._end(job, trial, None)

    def _end(self, job: _Job, trial: Trial, shown: PullRequest | None) -> None:
        self._forget(job)
        if not _start(job.future):
            return
        try:
            self._heard(job.work, trial, shown)
        except Exception as error:  # noqa: BLE001 - a hook's; it reaches who waits, as where trials run here
            job.future.set_exception(error)
        else:
            job.future.set_result(trial)

    def _forget(self, job: _Job) -> None:
        """Keep nothing of a job; Dask releases its instance's files with the last one that needs them."""
        if job in self._waiting:
            self._waiting.remove(job)
        self._submitted.pop(job.key, None)
        job.remote = job.files = None

    def _cancel(self) -> list[_Job]:
        """Have Dask run nothing more; return every job that is not done, in order."""
        jobs = sorted([*self._waiting, *self._submitted.values()], key=lambda job: job.number)
        self._connection.cancel([job.remote for job in jobs if job.remote is not None])
        return jobs

    def _fail(self, sentence: str) -> None:
        """Break every trial that was asked for, and any that will be."""
        self._gone = sentence
        for job in self._cancel():
            self._break(job, sentence)

    def _leave(self) -> None:
        """Disconnect the workers, hear their last bookings, and close everything."""
        try:
            if self.workers.answers:
                self._connection.disconnect(list(self.workers.known))
        except LOST:
            log.debug("the workers do not know yet that the run is over; each will notice")
        try:
            self._connection.close()
            while not self._inbox.empty():
                self._handle(timeout=0)
        finally:
            for worker in self.workers.known.values():
                self._budget.lose(worker.uid, worker.name)
            self._budget.close()


def _start(future: Future[Trial]) -> bool:
    """Return whether a trial is wanted, which from now on cannot be cancelled."""
    return not future.cancelled() and (future.running() or future.set_running_or_notify_cancel())


def connect(
    address: str, plan: RunPlan, crews: Sequence[Crew], *, rootdir: Path, store: Path, heard: Heard
) -> ClusterExecutor:
    """Return an executor on a cluster whose workers share the steps in ``store``, where the run's ledger lies too.

    Raises BadInput for what cannot be sent, EngineError for a cluster that is not there or whose workers cannot take
    the run, and OSError.
    """
    plan = fill_plan(plan, (crew.spec for crew in crews), rootdir)
    connection = Connection(address, plan)
    try:
        workers = Workers(connection)
        workers.await_first()
    except BaseException:
        connection.close()
        raise
    return ClusterExecutor(
        connection,
        workers,
        plan,
        budget=BudgetLedger(store / "ledger" / f"{plan.run}.jsonl", plan.budget, reserve_of(plan.models, crews)),
        steps=StepServer(FileStore(store), plan.fresh, secrets_of(plan.models)),
        heard=heard,
    )
