"""The executor over a cluster: a coroutine for each trial, for what workers send, and for workers that come and go."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger, reserve_of
from pytest_crab.campaign.cluster.bundles import pack_instance
from pytest_crab.campaign.cluster.connection import ANSWER, Connection, RemoteFuture, WorkerState
from pytest_crab.campaign.cluster.plan import (
    RunPlan,
    TrialAnswer,
    TrialTask,
    certified_runs_of,
    fill_plan,
    refuse_key,
)
from pytest_crab.campaign.cluster.remote_store import StepServer
from pytest_crab.campaign.cluster.stored import StoredTrials
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.campaign.cluster.workers import Workers
from pytest_crab.campaign.trial_pool import Contestant, Notice, TrialWork, WorkKind
from pytest_crab.errors import BadInput, Cancelled, EngineError
from pytest_crab.formats import format_count
from pytest_crab.store import FileStore
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import Instance, PullRequest

R = TypeVar("R")

log = logging.getLogger(__name__)

#: How many workers a trial may be lost with until it is broken, and how often it is submitted anew.
MOST_LOST, MOST_TRIES = 3, 10

#: How many trials are looked up in the store at a time: one is while another waits for git.
LOOKUPS = 2

#: Seconds between looks at the workers.
LOOK = 1.0


@dataclass(eq=False)
class _Job:
    """One trial that was asked for."""

    number: int
    work: TrialWork
    notice: Notice
    future: Future[Any] = field(default_factory=Future)
    remote: RemoteFuture | None = None
    key: str = ""
    #: The one that runs it.
    worker: WorkerState | None = None
    #: The names of earlier ones.
    lost: list[str] = field(default_factory=list)


class ClusterExecutor(Executor):
    """A concurrent.futures.Executor whose work is TrialWork; a trial that the cluster fails at is recorded as broken.

    ``events`` are sentences for the terminal, ``steps`` answers what workers ask of the store, and ``beside`` names the
    files of sets' own folders that workers need. ``stored`` answers what needs no worker; None: nothing is stored. All
    but the methods of an Executor belongs in the connection's loop.
    """

    def __init__(
        self,
        connection: Connection,
        workers: Workers,
        plan: RunPlan,
        *,
        budget: BudgetLedger,
        steps: StepServer,
        beside: Sequence[str] = (),
        stored: StoredTrials | None = None,
    ) -> None:
        self.workers = workers
        self.events = workers.events
        self._connection = connection
        self._plan = plan
        self._budget = budget
        self._steps = steps
        self._beside = beside
        self._stored = stored
        self._looking_up = ThreadPoolExecutor(max_workers=LOOKUPS, thread_name_prefix="crab-stored")
        self._numbers = itertools.count(1)
        self._jobs: dict[str, _Job] = {}
        self._running: set[Future[None]] = set()
        self._files: WeakValueDictionary[str, RemoteFuture] = WeakValueDictionary()
        self._packing, self._keeping = asyncio.Lock(), asyncio.Lock()
        self._gone: str | None = None
        self._closed = False
        connection.spawn(self._guard(connection.listen(lambda message: self._guard(self.hear(message)))))
        self._watcher = connection.spawn(self._guard(self._watch()))

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a trial run somewhere: ``fn`` is TrialWork, and the one argument is the notice of its steps.

        The future's result is always a record, unless the run is stopped.
        """
        work, (notice,) = cast("TrialWork", fn), (*args, *kwargs.values())
        job = _Job(next(self._numbers), work, notice)
        if self._stored is None:
            self._begin(job)
        else:
            self._looking_up.submit(self._look_up, job, self._stored)
        return cast("Future[R]", job.future)

    def _look_up(self, job: _Job, stored: StoredTrials) -> None:
        """Answer a trial from the store, or have it run; a trial waits for those before it, and pytest for none."""
        place = self.workers.place
        unwanted = place is None or self._gone is not None or job.future.done()
        self._begin(job, None if unwanted or place is None else stored.answer(job.work, place))

    def _begin(self, job: _Job, answer: TrialAnswer | None = None) -> None:
        running = self._connection.spawn(self._guard(self._run(job, answer)))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def stop(self) -> None:
        """End what runs; nothing starts any more."""
        if not self._closed:
            if self._stored is not None:
                self._stored.stop()
            self._connection.spawn(self._stop()).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Disconnect the workers, book what they still send, and close the connection."""
        if not self._closed:
            self._closed = True
            try:
                self._connection.spawn(self._stop()).result()
                self._looking_up.shutdown()
                self._connection.spawn(self._leave()).result()
            finally:
                self._connection.close()
                if self._stored is not None:
                    self._stored.close()

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        """Await a part of the run; whatever fails in it, no trial may be waited for without end."""
        try:
            await work
        except Exception as error:
            log.debug("the cluster's side of the run failed", exc_info=True)
            await self._fail(f"the cluster's side of the run failed ({error!r}): run again, finished steps are kept")

    # --- workers ----------------------------------------------------------------------------------------------------

    async def hear(self, message: Mapping[str, Any]) -> None:
        """Take a worker's message: a warning, bookings, a step that it made or wants, or the course of a trial."""
        answer: Mapping[str, Any] = {}
        try:
            uid, name, key = message["uid"], message["name"], message.get("key", "")
            for identity, entry in message.get("entries", {}).items():  # also a lost worker's: they are paid for
                self._book(identity, uid, name, entry)
            worker, job = self.workers.known.get(uid), self._jobs.get(key)
            if "warning" in message:
                self.events.add(message["warning"])
            elif "step" in message:
                answer = await asyncio.to_thread(self._steps.answer, message)
            elif "end" in message:
                self._budget.end(uid, key, short=message["end"])
            elif "begin" in message and worker is not None:  # others ask again: they are about to be taken in, or lost
                answer = self._admit(worker, job, message["begin"])
            elif "notice" in message:
                self._budget.note_step(uid, key, message["notice"])
                answer = {} if worker is None else {"noted": True}
                if worker is not None and job is not None:
                    job.notice(message["notice"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.events.add(f"a worker sent a malformed message ({error!r}), which was ignored: see the workers' logs")
        if "call" in message:
            await self._connection.answer(str(message["call"]), answer)

    def _book(self, identity: str, uid: str, name: str, entry: Mapping[str, Any]) -> None:
        """Book a request; one whose cost cannot be read keeps nothing else of its message from being heard."""
        try:
            self._budget.book(identity, uid, name, entry)
        except (TypeError, ValueError) as error:
            self.events.add(f"a request of worker {name} was not booked, so more is spent than is known: {error}")

    def _admit(self, worker: WorkerState, job: _Job | None, trial: str) -> Mapping[str, Any]:
        """Return the answer to a worker that is to begin a trial: an allowance, to wait, or that it is unwanted."""
        if job is None or not _start(job.future):
            return {"unwanted": True}
        job.worker = worker
        return self._budget.begin(worker.uid, job.key, trial)

    async def _watch(self) -> None:
        """Look again and again which workers are there; end a run without a scheduler or without workers."""
        while self._gone is None:
            await asyncio.sleep(LOOK)
            try:
                lost = await self.workers.look(needed=bool(self._jobs))
            except EngineError as error:
                await self._fail(str(error))
                return
            if lost:
                self._lose(lost)

    def _lose(self, lost: list[WorkerState]) -> None:
        """Charge what lost workers had under way; Dask gives their trials to others."""
        jobs = [job for job in self._jobs.values() if job.worker in lost]
        self.events.add_lost([worker.name for worker in lost], len(jobs))
        for worker in lost:
            self._budget.lose(worker.uid, worker.name)
        for job in jobs:
            assert job.worker is not None
            job.lost.append(job.worker.name)
            job.notice(f"again after worker {job.worker.name}")
            job.worker = None

    # --- trials -----------------------------------------------------------------------------------------------------

    async def _run(self, job: _Job, stored: TrialAnswer | None) -> None:
        """Have a trial run until there is a record of it, or its future is cancelled; not if one was ``stored``.

        Dask gives a trial up that waited where workers were lost, and it is submitted anew then.
        """
        answer: TrialAnswer | Exception | None = stored
        tries = 0
        while answer is None and tries < MOST_TRIES and len(job.lost) < MOST_LOST and not job.future.done():
            tries += 1
            job.key, job.worker = f"crab-trial-{self._plan.run}-{job.number}-{tries}", None
            self._jobs[job.key] = job  # it stays there if this fails, and all of these are broken
            answer = await self._try(job)
            self._jobs.pop(job.key, None)
        if isinstance(answer, TrialAnswer) and answer.trial is not None:
            await self._keep(job, answer.trial, answer.shown)
        elif isinstance(answer, TrialAnswer):
            self._break(job, answer.problem or "the worker sent no trial: see its log, and run again")
        elif answer is not None:
            name = "" if job.worker is None else f" {job.worker.name}"
            self._break(job, f"worker{name} failed ({answer!r}): see its log, and run again")
        else:
            lost = f", {len(job.lost)} workers were lost with it ({', '.join(job.lost)})" if job.lost else ""
            given_up = f"Dask gave the trial up {format_count(tries, 'time')}{lost}"
            self._break(job, f"{given_up}: see the logs of scheduler and workers, and run again")

    async def _try(self, job: _Job) -> TrialAnswer | Exception | None:
        """Give a trial to Dask, which runs it where its files are, or at a worker that has nothing else.

        Return the answer of the worker or the error that it failed with; None: Dask has given it up.
        """
        while self._gone is None and not (self.workers.answers and self.workers.known):  # noqa: ASYNC110 - see _watch
            await asyncio.sleep(LOOK)
        if self._gone is not None:
            return TrialAnswer(problem=self._gone)
        crew, repeat = job.work.crew.spec.name, job.work.repeat
        try:
            runs = certified_runs_of(self._plan, job.work.instance)
            task = TrialTask(key=job.key, topic=self._plan.topic, crew=crew, repeat=repeat, certified_runs=runs)
            files = await self._put_files(job.work.instance)
            if job.future.done():
                return None
            job.remote = self._connection.submit(task, files, job.number)
            return await self._connection.outcome(job.remote, job.work.kind.record)
        except LOST:
            self.workers.answers = False
            return None
        except BadInput as error:
            return TrialAnswer(problem=" ".join(str(error).split()))
        finally:
            job.remote = None

    async def _put_files(self, instance: Instance) -> RemoteFuture:
        """Put an instance's files on the cluster, unless another trial has. Raises BadInput and what LOST lists.

        Dask releases them with the last trial that needs them.
        """
        async with self._packing:
            files = self._files.get(instance.id)
            if files is None or files.status not in ("pending", "finished"):  # Dask forgets one that has failed
                bundle = await asyncio.to_thread(self._pack, instance)
                files = self._files[instance.id] = self._connection.put(bundle)
            return files

    def _pack(self, instance: Instance) -> bytes:
        bundle = pack_instance(instance, self._beside)
        refuse_key(instance.id, bundle, secrets_of(self._plan.models))
        return bundle

    async def _keep(self, job: _Job, trial: Any, shown: PullRequest | None) -> None:
        if not _start(job.future):
            return
        try:
            async with self._keeping:  # a hook may take long, and workers ask for steps meanwhile
                await asyncio.to_thread(job.work.heard, job.work, trial, shown)
        except Exception as error:  # noqa: BLE001 - a hook's; it reaches who waits, as where trials run here
            job.future.set_exception(error)
        else:
            job.future.set_result(trial)

    def _break(self, job: _Job, sentence: str) -> None:
        """Put a trial on the record as broken, with its reason."""
        if _start(job.future):
            work = job.work
            record = work.kind.broken(work.instance, work.crew, sentence, repeat=work.repeat, shard=self._plan.shard)
            job.future.set_result(record)

    # --- the end ----------------------------------------------------------------------------------------------------

    async def _fail(self, sentence: str) -> None:
        """Break every trial that was asked for, and any that will be."""
        self._gone = sentence
        await self._end(lambda job: self._break(job, sentence))

    async def _stop(self) -> None:
        self._gone = "the run was stopped"
        await self._end(_cancel)

    async def _end(self, end: Callable[[_Job], None]) -> None:
        """End every trial without a record, and have Dask run nothing more."""
        jobs, self._jobs = list(self._jobs.values()), {}
        for job in jobs:
            end(job)
        await self._connection.cancel([job.remote for job in jobs if job.remote is not None])

    async def _leave(self) -> None:
        """Disconnect the workers, hear their last bookings, and wait for trials that are being kept."""
        self._watcher.cancel()
        await _wait_for(self.workers.handshakes)  # else a worker that has just come would keep the run
        try:
            if self.workers.answers:
                await self._connection.disconnect([worker.address for worker in self.workers.known.values()])
        except LOST:
            log.debug("the workers do not know yet that the run is over; each will notice")
        await self._connection.end_messages()
        await _wait_for(self._running)
        for worker in self.workers.known.values():
            self._budget.lose(worker.uid, worker.name)
        self._budget.close()


async def _wait_for(running: set[Future[None]]) -> None:
    """Wait until these have ended, but not long."""
    if running:
        await asyncio.wait(map(asyncio.wrap_future, list(running)), timeout=ANSWER)


def _cancel(job: _Job) -> None:
    if not job.future.done() and not job.future.cancel():
        job.future.set_exception(Cancelled("the run was stopped"))


def _start(future: Future[Any]) -> bool:
    """Return whether a trial is wanted and has no record; from now on it cannot be cancelled."""
    return not future.done() and (future.running() or future.set_running_or_notify_cancel())


def connect(
    address: str, plan: RunPlan, members: Sequence[tuple[WorkKind, Contestant]], *, rootdir: Path, store: Path
) -> ClusterExecutor:
    """Return an executor on a cluster whose workers share the steps in ``store``, where the run's ledger lies too.

    Raises BadInput for what cannot be sent, EngineError for a cluster that is not there or whose workers cannot take
    the run, and OSError.
    """
    plan = fill_plan(plan, ((kind, member.spec) for kind, member in members), rootdir)
    asking = list(dict.fromkeys(step for kind, _ in members for step in kind.asking))
    reserve = reserve_of(plan.models, [member for _, member in members])
    connection = Connection(address, plan)
    try:
        workers = Workers(connection)
        connection.spawn(workers.await_first()).result()
    except BaseException:
        connection.close()
        raise
    is_used = any((store / "steps").glob("*/*/*.json"))
    return ClusterExecutor(
        connection,
        workers,
        plan,
        budget=BudgetLedger(store / "ledger" / f"{plan.run}.jsonl", plan.budget, reserve, asking),
        steps=StepServer(FileStore(store), plan.fresh, secrets_of(plan.models)),
        beside=sorted({name for kind, _ in members for name in kind.beside}),
        stored=StoredTrials(plan, store, rootdir) if is_used else None,
    )
