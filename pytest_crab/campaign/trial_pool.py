"""Many trials at once: submitted when asked for, waited for in any order, ended together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pytest_crab.adapters import AdapterSpec
from pytest_crab.campaign.progress import Progress, Watch
from pytest_crab.scoring.judges.votes import JUDGEMENT
from pytest_crab.trial import Crew, run_trial, unmeasured_trial
from pytest_crab.trial.steps import ReviewStep, RevisionStep
from pytest_crab.types import Instance, PullRequest, Reason, Trial
from pytest_crab.types.reviews import known_costs

#: How many trials are submitted ahead for each that may run at a time: so many can end while one that is reported
#: before them takes its time, and no lane is empty.
AHEAD = 64

#: The same under a disk budget, where those that ended ahead keep their environments.
AHEAD_ON_BUDGET = 4

#: Is given the name of each step that a trial begins.
Notice = Callable[[str], None]

R = TypeVar("R")


class ContestantSpec(Protocol):
    """A contestant as plain data, which another machine is sent."""

    @property
    def name(self) -> str:
        """Its name in the run."""

    @property
    def title(self) -> str:
        """The words for it in sentences."""

    @property
    def adapters(self) -> Mapping[str, AdapterSpec]:
        """The specs of all its adapters, each under a name that is a path."""

    def with_adapters(self, adapters: Mapping[str, AdapterSpec]) -> ContestantSpec:
        """Return the same contestant with these specs in the place of its ``adapters``."""


class Contestant(Protocol):
    """A contestant at work in a process."""

    @property
    def spec(self) -> ContestantSpec:
        """The same as plain data."""

    @property
    def askers(self) -> Sequence[tuple[str, str, object]]:
        """All of it that may ask a model, as what that is, its name and its adapter."""

    @property
    def built_in(self) -> bool:
        """True if it is code of this package that runs no other code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkKind:
    """A kind of work that a cluster can be given. Its functions belong to modules, where a worker finds them."""

    #: Builds a Contestant of its spec. Raises BadInput.
    build: Callable[[Any], Any]
    #: Does the work: takes instance, contestant and run context, and ``repeat`` and ``notice`` by name.
    perform: Callable[..., Any]
    #: The class of its records.
    record: type
    #: Makes the record of work that broke: takes instance, contestant and sentence, and ``repeat`` and ``shard``.
    broken: Callable[..., Any]
    #: The steps in which models are asked.
    asking: tuple[str, ...]
    #: The files of a set's own folder that it reads.
    beside: tuple[str, ...] = ()


def _broken_trial(instance: Instance, crew: Crew, sentence: str, *, repeat: int, shard: str | None) -> Trial:
    return unmeasured_trial(instance, crew, Reason.BROKEN, sentence, repeat=repeat, shard=shard)


#: Trials of reviewers.
TRIALS = WorkKind(
    build=Crew.build,
    perform=run_trial,
    record=Trial,
    broken=_broken_trial,
    asking=(ReviewStep.name, RevisionStep.name, JUDGEMENT),
)

#: Is given its work's record that came back, with the pull request that was shown.
Heard = Callable[["TrialWork", Any, "PullRequest | None"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWork:
    """One trial, or other work, as data: called, it runs here; an executor that runs it elsewhere reads it."""

    instance: Instance
    crew: Contestant
    repeat: int
    here: Callable[[TrialWork, Notice], Any]
    kind: WorkKind = TRIALS
    heard: Heard = lambda *_: None

    def __call__(self, notice: Notice) -> Any:
        """Run it in this process."""
        return self.here(self, notice)


class TrialPool(Generic[R]):
    """Trials on an executor, each under a key; at most as many run as the executor has workers.

    The executor is given work and whom to tell of its steps, and returns a future of the trial's record.
    ``costs`` returns the dollars that a record cost in this run. ``ended`` is called with each record that is
    finished, in the thread in which it was.
    """

    def __init__(
        self,
        executor: Executor,
        stop_work: Callable[[], None],
        costs: Callable[[R], Sequence[float]],
        ended: Callable[[R], None] = lambda _record: None,
    ) -> None:
        self._executor = executor
        self._stop_work = stop_work
        self._costs = costs
        self._tell = ended
        self._futures: dict[Hashable, Future[R]] = {}
        self._trials: dict[Hashable, R] = {}
        self._watch = Watch()
        self._guard = threading.Lock()
        self._interrupted = False  # in a submission, so that a trial may run before its future is stored
        self.stopped = False

    def submit(self, key: Hashable, work: Callable[[Notice], R]) -> None:
        """Start a trial unless one was started under this key; nothing starts after ``stop``."""

        def notice(step: str) -> None:
            self._watch.step(key, step)

        with self._guard:
            if self.stopped or key in self._futures or key in self._trials:
                return
            try:
                future = self._futures[key] = self._executor.submit(work, notice)
            except BaseException:
                self._interrupted = True
                raise
        future.add_done_callback(lambda ended: self._note(key, ended))

    def result(self, key: Hashable, tick: Callable[[Progress], None], interval: float = 0.2) -> R | None:
        """Wait for a trial, calling ``tick`` every ``interval`` seconds; None if it was never run to its end."""
        if key in self._trials:
            return self._trials[key]
        future = self._futures.get(key)
        if future is None:
            return None
        while not future.done():  # of which wait() says nothing where the future was cancelled in its queue
            if not wait([future], timeout=interval).done:
                tick(self.progress())
        self._note(key, future)
        if future.cancelled():
            return None
        trial = future.result()
        with self._guard:
            self._trials[key] = trial
            self._futures.pop(key, None)  # which holds more than the record
        return trial

    def drop(self, unwanted: Callable[[Hashable], bool]) -> None:
        """Take trials of these keys that have not started out of the queue; their result is then None."""
        with self._guard:
            futures = [future for key, future in self._futures.items() if unwanted(key)]
        for future in futures:
            future.cancel()

    def progress(self) -> Progress:
        """Return the running trials, and the count and cost of those that ended."""
        return self._watch.progress()

    def stop(self) -> None:
        """Start nothing more, end what runs and wait until it has ended."""
        with self._guard:
            self.stopped = True
            futures = list(self._futures.values())
        for future in futures:
            future.cancel()
        try:
            if self._interrupted or any(not future.done() for future in futures):
                self._stop_work()
        finally:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _note(self, key: Hashable, future: Future[R]) -> None:
        """Count a trial that has ended, once, whoever notices it first."""
        trial = None if future.cancelled() or future.exception() is not None else future.result()
        first = self._watch.end(key, done=trial is not None, costs=[] if trial is None else self._costs(trial))
        if first and trial is not None:
            self._tell(trial)


def costs_of_run(trial: Trial) -> list[float]:
    """Return the dollars that a trial cost in this run: those of stored steps were spent before."""
    reused = {step.step for step in trial.steps if step.reused}
    made = [step for name, step in (("review", trial.review), ("revision", trial.revision)) if name not in reused]
    usages = [*(step.usage for step in made if step is not None), *trial.failed_usages]
    return [*known_costs(usages), *(own.paid_usd for own in trial.scoring.values() if own.paid_usd is not None)]
