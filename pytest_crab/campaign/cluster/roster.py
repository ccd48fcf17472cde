"""Which worker takes which trial: those that know a repository first, and no slot idle while anything waits."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
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

    @property
    def free(self) -> int:
        """How many more trials it takes."""
        return self.slots - len(self.running)


class Roster:
    """The workers that may be given trials, and what each is doing."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}

    @property
    def slots(self) -> int:
        """How many trials may run at a time."""
        return sum(member.slots for member in self.members.values())

    def pick(self, waiting: Sequence[tuple[str, str]]) -> tuple[str, Member] | None:
        """The next (key, worker) out of the (key, repository) that wait, in their order; None: no slot or nothing.

        A repository's image is made once where that can be: a trial goes to a free worker that knows its repository; of
        the others those come first whose repository no worker knows, then any, to the worker that knows fewest.
        """
        free = [member for member in self.members.values() if member.free > 0]
        if not free or not waiting:
            return None
        for key, repository in waiting:
            knowing = [member for member in free if repository in member.repositories]
            if knowing:
                return key, max(knowing, key=lambda member: (member.free, member.address))
        known = {repository for member in self.members.values() for repository in member.repositories}
        fresh = [(key, repository) for key, repository in waiting if repository not in known]
        key, _ = (fresh or waiting)[0]
        return key, min(free, key=lambda member: (len(member.repositories), -member.free, member.address))

    def give(self, key: str, repository: str, member: Member) -> None:
        """Note that a worker runs a trial."""
        member.running.add(key)
        member.repositories.add(repository)

    def done(self, key: str) -> None:
        """Note that nobody runs this trial any more."""
        for member in self.members.values():
            member.running.discard(key)

    def gone(self, seen: Mapping[str, str]) -> list[Member]:
        """Drop and return the members that are not among the incarnations by address which were ``seen``."""
        lost = [member for member in self.members.values() if seen.get(member.address) != member.incarnation]
        for member in lost:
            del self.members[member.address]
        return lost

    def by_uid(self, uid: str) -> Member | None:
        """The worker whose process says this of itself."""
        return next((member for member in self.members.values() if member.uid == uid), None)


def spread(members: Iterable[Member]) -> int:
    """How many pairs of worker and repository there are: how often an image had to be had."""
    return sum(len(member.repositories) for member in members)
