"""The workers that take a run's trials: those that come, those that go, and which is to have an instance's files."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence

from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.connection import Handshakes
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.worker import LOST


class Workers:
    """The workers by address; ``report`` is given handshakes with the addresses they were for, in another thread."""

    def __init__(self, connection: Connection, report: Callable[[frozenset[str], Handshakes], None]) -> None:
        self.known: dict[str, WorkerState] = {}
        self._connection = connection
        self._report = report
        self._asked: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}

    @property
    def slots(self) -> int:
        """The number of trials that may run at a time."""
        return sum(each.slots for each in tuple(self.known.values()))  # asked for by other threads too

    def look(self) -> list[WorkerState]:
        """Shake hands with workers that came, and return those that are gone. Raises what LOST lists."""
        seen = self._connection.find_workers()
        lost = [
            worker
            for address, worker in self.known.items()
            if address not in seen or seen[address].incarnation != worker.incarnation
        ]
        for worker in lost:
            del self.known[worker.address]
        self._asked &= set(seen)
        came = [worker for address, worker in seen.items() if address not in {*self.known, *self._asked}]
        if came:
            self._asked |= {worker.address for worker in came}
            threading.Thread(target=self._shake_hands, args=(came,), name="crab-handshake", daemon=True).start()
        return lost

    def admit(self, addresses: frozenset[str], done: Handshakes) -> None:
        """Take in the workers of handshakes with these addresses that take the run; the others are not asked again."""
        self._asked = (self._asked - addresses) | done.unfit
        self.known |= {worker.address: worker for worker in done.workers}
        self._names |= {worker.uid: worker.name for worker in done.workers}

    def find(self, uid: str) -> WorkerState | None:
        """Return the worker whose process has this name."""
        return next((worker for worker in self.known.values() if worker.uid == uid), None)

    def name(self, uid: str) -> str:
        """Return the name of the worker whose process has this uid, also once it is gone; ``uid`` of an unknown one."""
        return self._names.get(uid, uid)

    def choose(self, repository: str, load: Counter[str]) -> str:
        """Return the worker with the fewest trials (``load``) for its slots, of those alike one with the repository."""

        def rank(worker: WorkerState) -> tuple[int, bool, int, str]:
            share = load[worker.address] // worker.slots
            return share, repository not in worker.repositories, len(worker.repositories), worker.address

        found = min(self.known.values(), key=rank)
        found.repositories.add(repository)
        return found.address

    def _shake_hands(self, came: Sequence[WorkerState]) -> None:
        try:
            done = self._connection.handshake(came)
        except LOST:
            done = Handshakes()
        self._report(frozenset(worker.address for worker in came), done)
