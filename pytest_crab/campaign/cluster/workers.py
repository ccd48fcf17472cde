"""The workers that take a run's trials: those that come, those that go, and which is to have an instance's files."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from pytest_crab.campaign.cluster.connection import Connection
from pytest_crab.campaign.cluster.connection import Handshakes
from pytest_crab.campaign.cluster.connection import WorkerState
from pytest_crab.campaign.cluster.worker import LOST


class Workers:
    """The workers by address; ``report`` is given ("handshakes", addresses, Handshakes) from another thread."""

    def __init__(self, connection: Connection, report: Callable[[str, frozenset[str], Handshakes], Any]) -> None:
        self.known: dict[str, WorkerState] = {}
        self._connection = connection
        self._report = report
        self._asked: set[str] = set()

    @property
    def slots(self) -> int:
        """How many trials may run at a time."""
        return sum(each.slots for each in tuple(self.known.values()))  # asked for by other threads too

    def look(self) -> list[WorkerState]:
        """Shake hands with workers that came, and return those that are gone. Raises what LOST lists."""
        seen = self._connection.seen()
        lost = [
            each
            for each in self.known.values()
            if each.address not in seen or seen[each.address].incarnation != each.incarnation
        ]
        for each in lost:
            del self.known[each.address]
        self._asked &= set(seen)
        came = [each for address, each in seen.items() if address not in {*self.known, *self._asked}]
        if came:
            self._asked |= {each.address for each in came}
            threading.Thread(target=self._handshake, args=(came,), name="crab-handshake", daemon=True).start()
        return lost

    def admit(self, addresses: frozenset[str], done: Handshakes) -> None:
        """Take in the workers of handshakes with these addresses that take the run; the others are not asked again."""
        self._asked = (self._asked - addresses) | done.unfit
        self.known |= {each.address: each for each in done.workers}

    def free(self, load: Counter[str]) -> list[WorkerState]:
        """Return the workers with a free slot, given how many trials each has."""
        return [each for each in self.known.values() if load[each.address] < each.slots]

    def prefer(self, repository: str, load: Counter[str]) -> WorkerState:
        """Return the free worker that is to have files of a repository: one that has others of it, if there is one."""

        def rank(worker: WorkerState) -> tuple[bool, int, float, str]:
            knows = repository in worker.repositories
            share = load[worker.address] / worker.slots
            return not knows, 0 if knows else len(worker.repositories), share, worker.address

        found = min(self.free(load), key=rank)
        found.repositories.add(repository)
        return found

    def _handshake(self, came: Sequence[WorkerState]) -> None:
        try:
            done = self._connection.handshake(came)
        except LOST:
            done = Handshakes()
        self._report("handshakes", frozenset(each.address for each in came), done)
