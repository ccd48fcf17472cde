"""The workers that take a run's trials: those that come and those that go."""

from __future__ import annotations

import asyncio
import queue
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from pytest_crab.campaign.cluster.connection import RESOURCE, Connection, WorkerState
from pytest_crab.campaign.cluster.plan import Handshake, Place, release
from pytest_crab.campaign.cluster.worker import LOST
from pytest_crab.errors import EngineError
from pytest_crab.formats import format_count, format_names

#: Seconds: for the first worker to come, without a word of the scheduler, without any worker.
FIRST, SILENT, ALONE = 30.0, 15.0, 60.0

#: How many workers are named.
_NAMED = 3


class WorkerEvents:
    """Sentences on their way to the terminal, each once; added by any thread, taken by the one that writes there."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._known: set[str] = set()
        self._lost = 0
        self._again = 0

    def add(self, sentence: str) -> None:
        """Pass on a sentence that was not passed on before."""
        if sentence not in self._known:
            self._known.add(sentence)
            self._lines.put(sentence)

    def add_lost(self, names: Sequence[str], trials: int) -> None:
        """Say that workers are gone which ran so many trials, which others are given."""
        self._lost += len(names)
        self._again += trials
        self._lines.put(f"lost {_names_of(names)} ({format_count(trials, 'trial')} under way)")

    def take(self) -> list[str]:
        """Return the sentences that were not taken before."""
        return [self._lines.get() for _ in range(self._lines.qsize())]

    def summary(self) -> str | None:
        """Return how many workers were lost and trials given again; None: none of either."""
        if not self._lost and not self._again:
            return None
        was, were = ("was" if count == 1 else "were" for count in (self._lost, self._again))
        return (
            f"{format_count(self._lost, 'worker')} {was} lost, {format_count(self._again, 'trial')} {were} given again"
        )


class Workers:
    """The workers that took the run, by the names of their processes; it belongs in the connection's loop.

    ``events`` are sentences on those that refused it, and on lost ones. ``answers``: the scheduler answered last time.
    ``handshakes`` are under way.
    """

    def __init__(self, connection: Connection) -> None:
        self.known: dict[str, WorkerState] = {}
        self.events = WorkerEvents()
        self.answers = True
        self.handshakes: set[Future[None]] = set()
        self._connection = connection
        self._asked: set[str] = set()  # they take the run, refuse it, or have not answered yet
        self._answered_at = self._peopled_at = 0.0

    @property
    def slots(self) -> int:
        """The number of trials that may run at a time; any thread may ask."""
        return sum(each.slots for each in list(self.known.values()))

    @property
    def place(self) -> Place | None:
        """The place that all of them have; None: they differ. Any thread may ask."""
        places = {each.place for each in list(self.known.values())}
        return places.pop() if len(places) == 1 else None

    async def await_first(self) -> None:
        """Wait for workers that take the run. Raises EngineError if none comes, offers slots, or takes the run."""
        address = self._connection.address
        deadline = time.monotonic() + FIRST
        start = f'dask worker {address} --nthreads 2 --resources "{RESOURCE}=2"'
        try:
            while not (seen := await self._connection.find_workers()):
                if time.monotonic() > deadline:
                    raise EngineError(f"no worker has come to {address} in {FIRST:.0f} seconds: start one as {start}")
                await asyncio.sleep(0.2)
            found = _with_slots(seen)
            if not found:
                raise EngineError(
                    f"none of the {len(seen)} workers of {address} offers {RESOURCE}, the trials that it takes "
                    f"at a time: start them as {start}"
                )
            self._asked = set(found)
            refused = await self._shake_hands(found)
            if not self.known:
                await self._connection.disconnect(list(found))
                raise EngineError("\n".join(refused))
        except LOST as error:
            raise EngineError(self._connection.gone_sentence()) from error
        for sentence in refused:
            self.events.add(f"left out: {sentence}")
        self._answered_at = self._peopled_at = time.monotonic()

    async def look(self, *, needed: bool) -> list[WorkerState]:
        """Shake hands with workers that came, and return those that are gone.

        Raises EngineError once the scheduler is silent for too long, or none is left although one is ``needed``.
        """
        now = time.monotonic()
        try:
            seen = _with_slots(await self._connection.find_workers())
        except LOST as error:
            self.answers = False
            if time.monotonic() - self._answered_at > SILENT:
                raise EngineError(self._connection.gone_sentence()) from error
            return []
        self.answers, self._answered_at = True, now
        there = {(worker.address, worker.incarnation) for worker in seen.values()}
        lost = [worker for worker in self.known.values() if (worker.address, worker.incarnation) not in there]
        for worker in lost:
            del self.known[worker.uid]
        self._asked &= set(seen) - {worker.address for worker in lost}
        came = {address: worker for address, worker in seen.items() if address not in self._asked}
        if came:
            self._asked |= set(came)
            handshake = self._connection.spawn(self._take_in(came))
            self.handshakes.add(handshake)
            handshake.add_done_callback(self.handshakes.discard)
        if self.known or lost or not needed:
            self._peopled_at = now
        elif now - self._peopled_at > ALONE:
            raise EngineError(f"no worker of {self._connection.address} is left: start some and run again")
        return lost

    async def _take_in(self, came: Mapping[str, WorkerState]) -> None:
        try:
            for sentence in await self._shake_hands(came):
                self.events.add(f"left out: {sentence}")
        except LOST:  # they are asked again
            self._asked -= set(came)

    async def _shake_hands(self, came: Mapping[str, WorkerState]) -> list[str]:
        """Add the workers that take the run; return sentences on the others, each once. Raises what LOST lists."""
        answers = await self._connection.handshake(list(came))
        refused = defaultdict[str, list[str]](list)
        for address, worker in came.items():
            problems = _problems(answers.get(address))
            for problem in problems:
                refused[problem].append(worker.title)
            if not problems:
                worker.uid, worker.place = answers[address].uid, answers[address].place
                self.known[worker.uid] = worker
        return [f"{_names_of(names)}: {problem}" for problem, names in refused.items()]


def _with_slots(workers: Mapping[str, WorkerState]) -> dict[str, WorkerState]:
    return {address: worker for address, worker in workers.items() if worker.slots > 0}


def _problems(answer: Any) -> list[str]:
    """Return why a worker is refused, without its name; its answer is a handshake's, or the error it failed with."""
    if not isinstance(answer, Handshake):
        why = " ".join(str(answer or "nothing came").split())
        return [f"no answer that could be read ({why}): install {release()} there"]
    if answer.release != release():
        return [f"{answer.release} is installed, and this run has {release()}: install the same version on both"]
    return list(answer.problems)


def _names_of(names: Sequence[str]) -> str:
    """Name workers, at most a few of them."""
    return f"worker{'s' * (len(names) > 1)} {format_names(names, _NAMED)}"
