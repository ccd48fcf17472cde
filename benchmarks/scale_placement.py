"""A rule for which worker takes which trial, which Dask's choices come to: its files are there, or it has nothing."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field


@dataclass
class Member:
    """A worker; ``incarnation`` changes where another process has come to the same address."""

    address: str
    name: str
    slots: int
    incarnation: str
    uid: str = ""
    running: set[str] = field(default_factory=set)
    repositories: set[str] = field(default_factory=set)
    instances: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """Its name, and where it is unless that is its name."""
        return self.name if self.name == self.address else f"{self.name} ({self.address})"

    @property
    def free(self) -> int:
        """How many more trials it takes."""
        return self.slots - len(self.running)


@dataclass
class _Queue:
    """The trials of one instance that wait, by key, with their numbers."""

    repository: str
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def first(self) -> int:
        return min(self.numbers.values())


class Roster:
    """The workers that may be given trials, what each is doing, and the trials that wait for one.

    An image is built and a proof made once on each worker that runs trials of an instance, so that it should be few.
    """

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._queues: dict[str, _Queue] = {}
        self._waiting: dict[str, str] = {}
        self._holders: dict[str, set[str]] = {}
        self._fresh: dict[str, list[tuple[int, str]]] = {}
        self._free: set[str] = set()

    @property
    def slots(self) -> int:
        """How many trials may run at a time."""
        return sum(member.slots for member in tuple(self.members.values()))  # asked for by other threads too

    # --- workers ----------------------------------------------------------------------------------------------------

    def admit(self, member: Member) -> None:
        """Let a worker take trials, of which it has none yet."""
        self.members[member.address] = member
        self._free.add(member.address)

    def drop(self, address: str) -> Member | None:
        """Give a worker nothing more, and forget what it has; what it runs is for the caller to know."""
        member = self.members.pop(address, None)
        if member is not None:
            self._free.discard(address)
            for instance in member.instances:
                self._holders[instance].discard(address)
                self._freshen(instance)
        return member

    def gone(self, seen: Mapping[str, str]) -> list[Member]:
        """Drop and return the members that are not among the incarnations by address which were ``seen``."""
        lost = [member for member in self.members.values() if seen.get(member.address) != member.incarnation]
        for member in lost:
            self.drop(member.address)
        return lost

    # --- trials -----------------------------------------------------------------------------------------------------

    def wait(self, key: str, number: int, instance: str, repository: str) -> None:
        """Have a trial wait for a worker; those of smaller numbers come first where nothing else decides."""
        self._waiting[key] = instance
        if instance in self._queues:
            self._queues[instance].numbers[key] = number
        else:
            self._queues[instance] = _Queue(repository, {key: number})
            self._freshen(instance)

    def pick(self) -> tuple[str, Member] | None:
        """The next trial and the worker that runs it from now on; None: no slot is free, or nothing waits.

        First a trial of an instance that a free worker has; then one of an instance that nobody has, on a worker that
        knows its repository, else of the repository with most such instances for each worker that knows it; and last,
        where all instances that wait are with busy workers, one of that with most trials for each of them.
        """
        if not self._free or not self._waiting:
            return None
        free = [self.members[address] for address in self._free]
        instance, member = self._own(free) or self._new(free) or self._shared(free)
        queue = self._queues[instance]
        key = min(queue.numbers, key=queue.numbers.__getitem__)
        self._unwait(key)
        member.running.add(key)
        member.repositories.add(queue.repository)
        member.instances.add(instance)
        self._holders.setdefault(instance, set()).add(member.address)
        if member.free <= 0:
            self._free.discard(member.address)
        return key, member

    def done(self, key: str, address: str) -> None:
        """Note that nobody waits for this trial or runs it any more; ``address`` is where it was given last."""
        if key in self._waiting:
            self._unwait(key)
        member = self.members.get(address)
        if member is not None:
            member.running.discard(key)
            if member.free > 0:
                self._free.add(address)

    # --- choosing ---------------------------------------------------------------------------------------------------

    def _own(self, free: Iterable[Member]) -> tuple[str, Member] | None:
        """An instance that waits and a free worker that has it: the one with most slots free, and its oldest."""
        able = [(member, found) for member in free if (found := member.instances & self._queues.keys())]
        if not able:
            return None
        member, found = max(able, key=lambda each: (each[0].free, each[0].address))
        return min(found, key=lambda instance: self._queues[instance].first), member

    def _new(self, free: Iterable[Member]) -> tuple[str, Member] | None:
        """The oldest instance that nobody has of a repository that a free worker knows, else of one that few know."""
        tops = {repository: top for repository in list(self._fresh) if (top := self._top(repository)) is not None}
        if not tops:
            return None
        knowing = [(tops[each], member) for member in free for each in member.repositories & tops.keys()]
        if knowing:
            top, member = min(knowing, key=lambda each: (each[0], -each[1].free, each[1].address))
            return top[1], member
        known = Counter(each for member in self.members.values() for each in member.repositories)
        least = min(tops, key=lambda each: (known[each] / len(self._fresh[each]), tops[each]))
        return tops[least][1], min(free, key=_least)

    def _shared(self, free: Iterable[Member]) -> tuple[str, Member]:
        """An instance that is with busy workers, and a free one, which if it can be knows the repository."""

        def burden(instance: str) -> tuple[float, int]:
            queue = self._queues[instance]
            return -len(queue.numbers) / len(self._holders[instance]), queue.first

        instance = min(self._queues, key=burden)
        repository = self._queues[instance].repository
        return instance, min(free, key=lambda member: (repository not in member.repositories, *_least(member)))

    def _top(self, repository: str) -> tuple[int, str] | None:
        """The oldest instance of a repository that waits and that nobody has, after its number."""
        heap = self._fresh[repository]
        while heap and (heap[0][1] not in self._queues or self._holders.get(heap[0][1])):
            heapq.heappop(heap)
        if heap:
            return heap[0]
        del self._fresh[repository]
        return None

    def _freshen(self, instance: str) -> None:
        """Note an instance that waits if nobody has it; what has changed since is seen when it is looked at."""
        queue = self._queues.get(instance)
        if queue is not None and not self._holders.get(instance):
            heapq.heappush(self._fresh.setdefault(queue.repository, []), (queue.first, instance))

    def _unwait(self, key: str) -> None:
        instance = self._waiting.pop(key)
        queue = self._queues[instance]
        del queue.numbers[key]
        if not queue.numbers:
            del self._queues[instance]


def _least(member: Member) -> tuple[int, int, str]:
    """Workers that know few repositories come first, and of those they with most slots free."""
    return len(member.repositories), -member.free, member.address
