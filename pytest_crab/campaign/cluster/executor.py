"""The executor over a cluster: one thread that gives out trials, hears of them, and tries again what a worker lost."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from collections.abc import Mapping
from concurrent.futures import Executor
from concurrent.futures import Future
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar
from typing import cast

from pytest_crab import plain
from pytest_crab.campaign.cluster.cashier import Cashier
from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.connection import Greeted
from pytest_crab.campaign.cluster.docket import Docket
from pytest_crab.campaign.cluster.docket import Job
from pytest_crab.campaign.cluster.news import News
from pytest_crab.campaign.cluster.parcels import Parcels
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.roster import Member
from pytest_crab.campaign.cluster.roster import Roster
from pytest_crab.campaign.cluster.treasury import Treasury
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.campaign.executor import TrialWork
from pytest_crab.errors import BadInput
from pytest_crab.errors import Cancelled
from pytest_crab.trial import unmeasured
from pytest_crab.types import PullRequest
from pytest_crab.types import Reason
from pytest_crab.types import Trial

if TYPE_CHECKING:
    from distributed import Future as RemoteFuture

R = TypeVar("R")

log = logging.getLogger(__name__)

#: How often a trial is tried where workers are lost with it.
MOST_TRIES = 3

#: Seconds: between looks at who is there, without a word of the scheduler, without any worker, for last bookings.
LOOK, SILENT, ALONE, BOOKING = 1.0, 15.0, 60.0, 5.0

#: What comes of reading something that is not what it should be.
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)

#: Hears of each trial that came back, with the pull request that it showed.
Heard = Callable[[TrialWork, Trial, "PullRequest | None"], None]


class ClusterExecutor(Executor):
    """A concurrent.futures.Executor whose work is TrialWork; what the cluster fails at is on the record as broken.

    ``check`` is given all that is about to be sent and raises BadInput for what must not be.
    """

    def __init__(
        self,
        connection: Connection,
        plan: RunPlan,
        crews: Mapping[str, ShippedCrew],
        treasury: Treasury,
        *,
        heard: Heard,
        check: Callable[[str, bytes], None],
        events: queue.SimpleQueue[tuple[Any, ...]],
    ) -> None:
        self.roster = Roster()
        self.news = News()
        self._connection = connection
        self._plan = plan
        self._crews = crews
        self._cashier = Cashier(connection, treasury)
        self._heard = heard
        self._events = events
        self._docket = Docket()
        self._parcels = Parcels(connection, check)
        self._greeting: set[str] = set()
        self._count = 0
        self._gone: str | None = None
        self._heard_at = self._peopled_at = time.monotonic()
        self._hears = True
        self._over = False
        self._thread = threading.Thread(target=self._drive, name="crab-cluster", daemon=True)

    def start(self, greeted: Greeted) -> None:
        """Begin, with these workers."""
        self._on_greeted(set(), greeted)
        self._thread.start()

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Have a trial run somewhere: ``fn`` is TrialWork, and the one argument is whom to tell of its steps.

        The future's result is always a record, unless the run is stopped.
        """
        work, (notice,) = cast("TrialWork", fn), (*args, *kwargs.values())
        self._count += 1
        crew, repeat = work.crew.spec.reviewer, work.repeat
        key = f"{self._plan.topic}-{self._count}-{plain.digest([work.instance.id, crew, repeat])[:8]}"
        job = Job(self._count, key, work, notice)
        self._events.put(("submit", job))
        return cast("Future[R]", job.future)

    def stop(self) -> None:
        """End what runs; nothing starts any more."""
        self._events.put(("stop",))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Take leave of the workers, book what they still tell, and close the connection."""
        self._events.put(("over",))
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
                self._give()
            except Exception as error:  # whatever fails here, nobody may wait for ever
                log.debug("the cluster's thread failed", exc_info=True)
                self._fail(f"the cluster's side of the run failed ({error!r}): run again, finished steps are kept")
        self._leave()

    def _handle(self, timeout: float) -> None:
        """Hear of one thing that happened, if anything does."""
        try:
            kind, *rest = self._events.get(timeout=timeout)
        except queue.Empty:
            return
        getattr(self, f"_on_{kind}")(*rest)

    def _on_submit(self, job: Job) -> None:
        self._wait(job)
        if self._gone is not None:
            self._break(job, self._gone)

    def _on_stop(self) -> None:
        self._connection.cancel(self._docket.remotes())
        for job in self._docket.all():
            self._forget(job)
            if not job.future.cancel():
                job.future.set_exception(Cancelled("the run was stopped"))
        self._gone = "the run was stopped"

    def _on_over(self) -> None:
        self._over = True

    def _on_told(self, message: Mapping[str, Any]) -> None:
        """A message of a worker: a step that began, a warning, or money."""
        try:
            job = self._docket.tried(str(message.get("key")))
            if job is not None:
                job.notice(str(message["step"]))
            elif "warning" in message:
                self.news.say(str(message["warning"]))
            else:
                self._cashier.hear(message)
        except UNREADABLE as error:
            self.news.say(f"a worker sent what is no message ({error!r}), which was passed over: see the workers' logs")

    def _on_greeted(self, addresses: set[str], greeted: Greeted) -> None:
        self._greeting = (self._greeting - addresses) | greeted.unfit
        for sentence in greeted.refused:
            self.news.say(f"left out: {sentence}")
        for member in greeted.members:
            self.roster.admit(member)
            self._cashier.know(member)

    def _on_done(self, key: str, remote: RemoteFuture) -> None:
        job = self._docket.get(key)
        if job is None or id(job.remote) != id(remote):
            return
        if remote.status in ("cancelled", "lost"):
            job.remote = None  # the scheduler is gone, or has forgotten all: see _look
            return
        name = self._name(job)
        try:
            error = remote.exception(timeout=10) if remote.status == "error" else None
            answer = remote.result(timeout=10) if error is None else ""
        except LOST:  # its worker is gone, with the result; or the scheduler has forgotten it
            self._again(job, name)
            return
        if error is not None:
            if type(error).__name__ == "KilledWorker":
                self._again(job, name)
            else:
                self._break(job, f"worker {name} failed ({error!r}): see its log, and run again")
            return
        self._parcels.arrived(job.place)
        try:
            self._conclude(job, json.loads(answer))
        except UNREADABLE as error:
            self._break(job, f"worker {name} sent what is no answer ({error!r}): see its log")

    def _conclude(self, job: Job, answer: Mapping[str, Any]) -> None:
        """Make of a worker's answer what it is."""
        if "trial" in answer:
            problems: list[str] = []
            trial = plain.read(Trial, answer["trial"], problems)
            shown = plain.read(PullRequest, answer["pull_request"], problems) if "pull_request" in answer else None
            if trial is None or problems:
                self._break(job, f"worker {self._name(job)} sent what is no record ({problems[0]}): see its log")
            else:
                self._end(job, trial, shown)
        elif "broken" in answer:
            self._break(job, str(answer["broken"]))
        elif "refused" in answer:
            self.news.say(f"left out: {answer['refused']}")
            member = self.roster.drop(job.place)
            self._greeting.add(job.place)  # so that it is not asked again
            if self.roster.members:
                self._again(job, member.name if member else job.place)
            else:
                self._break(job, str(answer["refused"]))
        else:  # lacking its files, or stopped there though nobody here has stopped it
            name = self._name(job)
            if "stopped" in answer:
                if self.roster.drop(job.place) is not None:
                    self.news.say(f"left out: worker {name}: the run was stopped there")
                self._greeting.add(job.place)
            self._parcels.forget(job.place)
            self._again(job, name)

    # --- workers that come and go -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """See who is there: greet those who came, and give to others what those who left had."""
        if self._gone is not None:
            return
        now = time.monotonic()
        try:
            seen = self._connection.seen()
        except LOST:
            self._hears = False
            if time.monotonic() - self._heard_at > SILENT:
                self._fail(self._connection.gone())
            return
        self._hears = True
        self._heard_at = now
        self._cashier.answer()
        lost = self.roster.gone({address: each.incarnation for address, each in seen.items()})
        if lost:
            self.news.lost([member.name for member in lost], sum(len(member.running) for member in lost))
        for member in lost:
            self._lose(member)
        for job in self._docket.stranded(seen):
            self._again(job, self._name(job))
        self._greeting &= set(seen)
        came = [each for address, each in seen.items() if address not in {*self.roster.members, *self._greeting}]
        if came:
            self._greeting |= {member.address for member in came}
            threading.Thread(target=self._greet, args=(came,), name="crab-greeting", daemon=True).start()
        if self.roster.members or not self._docket:
            self._peopled_at = now
        elif now - self._peopled_at > ALONE:
            self._fail(f"no worker of {self._connection.address} is left: start some and run again")

    def _greet(self, came: list[Member]) -> None:
        addresses = {member.address for member in came}
        try:
            greeted = self._connection.greet(came)
        except LOST:
            greeted = Greeted(members=())
        self._events.put(("greeted", addresses, greeted))

    def _lose(self, member: Member) -> None:
        """A worker is gone: book what it had under way, and give its trials to others."""
        self._cashier.lose(member)
        self._parcels.forget(member.address)
        for job in [job for key in sorted(member.running) if (job := self._docket.get(key)) is not None]:
            self._again(job, member.name)

    # --- trials -----------------------------------------------------------------------------------------------------

    def _give(self) -> None:
        """Give waiting trials to free workers, as long as the scheduler answers."""
        while self._hears and (picked := self.roster.pick()):
            key, member = picked
            job = self._docket.take(key)
            job.place = member.address
            if job.lost or job.future.set_running_or_notify_cancel():
                try:
                    self._send(job, member)
                except LOST:
                    self._hears = False  # and the job is taken up when the scheduler is heard again
                except BadInput as error:
                    self._break(job, " ".join(str(error).split()))
            else:
                self._forget(job)

    def _send(self, job: Job, member: Member) -> None:
        parcel = self._parcels.send(job.work.instance, member.address)
        crew = self._crews[job.work.crew.spec.reviewer]
        task = Task(
            key=job.task_key,
            run=self._plan,
            crew=crew,
            bundle=parcel.bundle,
            instance=parcel.instance,
            repeat=job.work.repeat,
        )
        job.remote = remote = self._connection.submit(task, member.address, parcel.arriving)
        remote.add_done_callback(lambda done, key=job.key: self._events.put(("done", key, done)))

    def _wait(self, job: Job) -> None:
        """Let a job wait for a worker."""
        instance = job.work.instance
        self._docket.add(job)
        self.roster.wait(job.key, job.number, instance.id, instance.repo)

    def _again(self, job: Job, name: str) -> None:
        """Let another worker try, or give up."""
        if job.remote is not None:
            self._connection.cancel([job.remote])
        self._forget(job)
        job.lost.append(name)
        if len(job.lost) < MOST_TRIES:
            self._wait(job)
            self.news.again()
            job.notice(f"again after worker {name}")
            return
        names = ", ".join(job.lost)
        self._break(
            job, f"the trial was lost with {len(job.lost)} workers in turn ({names}): see their logs, run again"
        )

    def _break(self, job: Job, sentence: str) -> None:
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

    def _end(self, job: Job, trial: Trial, shown: PullRequest | None) -> None:
        self._forget(job)
        if not job.future.running() and not job.future.set_running_or_notify_cancel():
            return
        try:
            self._heard(job.work, trial, shown)
        except Exception as error:  # noqa: BLE001 - a hook's; it reaches who waits, as where trials run here
            job.future.set_exception(error)
        else:
            job.future.set_result(trial)

    def _forget(self, job: Job) -> None:
        """Keep nothing of a job."""
        self.roster.done(job.key, job.place)
        self._docket.forget(job)

    def _fail(self, sentence: str) -> None:
        """Nothing can be done any more: every trial that was asked for is broken, and so is any that will be."""
        self._gone = sentence
        self._connection.cancel(self._docket.remotes())
        for job in self._docket.all():
            self._break(job, sentence)

    def _name(self, job: Job) -> str:
        member = self.roster.members.get(job.place)
        return member.name if member is not None else job.place

    def _leave(self) -> None:
        """Take leave of the workers, hear their last bookings, and close everything."""
        silent = self._gone is not None and not self._hears
        try:
            self._connection.farewell([] if silent else list(self.roster.members))
        except LOST:
            log.debug("no worker could be told that the run is over; each sees so by itself")
        try:
            deadline = time.monotonic() + (0 if silent else BOOKING)
            while self._cashier.outstanding and time.monotonic() < deadline:
                self._handle(timeout=0.1)
            while not self._events.empty():
                self._handle(timeout=0)
        finally:
            self._cashier.close(self.roster.members.values())
            self._connection.close()
