"""What a run will need, told before it does anything, and why it cannot work where that is plain."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from pytest_crab.campaign.sizes import in_words
from pytest_crab.runtimes.stock import BASE
from pytest_crab.runtimes.stock import Stock
from pytest_crab.runtimes.stock import typical
from pytest_crab.trial import Crew
from pytest_crab.trial import World
from pytest_crab.trial.plan import contestants_stored
from pytest_crab.types import Instance

#: How long the store is looked through, and how much of an earlier run's record is read, at most.
SECONDS, TAIL = 0.25, 2**20
#: What part of the guess must be free, or the run is refused: so far off it never is.
PLAIN = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Environments that are there, those to build, and bases to pull.

    ``bytes`` is the best guess of what that takes, if all of it is needed, and ``least`` what it takes at the least.
    """

    there: int
    to_build: int
    to_pull: int
    bytes: float
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """Reviews and revisions to be made and those that are stored; ``exact``: every trial was looked up."""

    reviews: int
    revisions: int
    stored: int
    exact: bool

    @property
    def share(self) -> float:
        """The part of all reviews and revisions that is not stored."""
        made = self.reviews + self.revisions
        return made / (made + self.stored) if made else 0.0

    @classmethod
    def all_of(cls, trials: int) -> Asks:
        """Nothing is stored."""
        return cls(reviews=trials, revisions=trials, stored=0, exact=True)


@dataclass(slots=True)
class Measured:
    """Seconds of the steps that an earlier run did not take from the store: by step and who did it, or ``""``."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    proved: set[str] = field(default_factory=set)

    def mean(self, step: str, who: str = "") -> float | None:
        """The mean of a step's seconds; None: not measured."""
        found = self.seconds.get((step, who))
        return statistics.fmean(found) if found else None


def room(instances: Mapping[str, Instance], stock: Stock, runtime: str, share: float) -> Room:
    """What the environments of instances take that are not there: as others of the repository, of all, of the kind.

    ``share`` is the part of the run's steps that are not stored, since what is stored needs no environment.
    """
    known: dict[str, list[int]] = {}
    for name, above in stock.there.items():
        if above is not None and name in instances:
            known.setdefault(instances[name].repo, []).append(above)
    everything = [above for sizes in known.values() for above in sizes]
    missing = [instance for name, instance in instances.items() if name not in stock.there]
    guess = float(BASE * len(stock.pulled))
    for instance in missing:
        alike = known.get(instance.repo) or everything
        guess += statistics.fmean(alike) if alike else typical(instance.required_environment, runtime)
    return Room(
        there=len(instances) - len(missing),
        to_build=len(missing),
        to_pull=len(stock.pulled),
        bytes=guess,
        least=guess * PLAIN * share,
    )


def lack_of_disk(stock: Stock, room: Room, budget: int | None) -> str | None:
    """Why the disk is plainly too small, in a sentence; None if it may do, or nobody knows what is free."""
    least = room.least if budget is None else min(room.least, budget)
    if stock.free is None or least <= stock.free:
        return None
    advice = "free some space, or run a part with --crab-shard"
    advice += "" if budget is not None else ", or let --crab-disk-budget remove images as it goes"
    return (
        f"the {room.to_build:,} environments that are not there will take {in_words(least)} or more, and only "
        f"{in_words(stock.free)} are free in {stock.place}: {advice}"
    )


def asks(world: World, trials: Sequence[tuple[Instance, Crew, int]], seconds: float = SECONDS) -> Asks:
    """Look trials up in the store, in a fixed random order, for so long; the rest is taken to be like them."""
    until = time.monotonic() + seconds
    order = list(trials)
    random.Random(0).shuffle(order)  # noqa: S311 - a sample, no secret
    reviews = revisions = seen = 0
    for instance, crew, repeat in order:
        review, revision = is_stored(world, instance, crew, repeat)
        reviews += not review
        revisions += not revision
        seen += 1
        if time.monotonic() > until:
            break
    share = len(trials) / seen if seen else 0
    made, answered = round(reviews * share), round(revisions * share)
    return Asks(reviews=made, revisions=answered, stored=2 * len(trials) - made - answered, exact=seen == len(trials))


def is_stored(world: World, instance: Instance, crew: Crew, repeat: int) -> tuple[bool, bool]:
    """Whether a trial's review and its revision are in the store, or not needed."""
    try:
        return contestants_stored(instance, crew, world, repeat=repeat)
    except Exception:  # noqa: BLE001 - whatever an adapter of somebody else raises: its trial will say so
        return False, False


def measured(records: Path, runtime: str) -> Measured:
    """What the last records of an earlier run say about this runtime's steps; nothing if there is no such file."""
    found = Measured()
    for trial in _last(records):
        if isinstance(trial, dict) and trial.get("runtime") == runtime:
            with suppress(KeyError, TypeError, AttributeError):  # it says nothing of this, or is no record
                _measure(found, trial)
    return found


def _measure(found: Measured, trial: Mapping[str, Any]) -> None:
    for step in trial.get("steps", ()):
        if step["step"] == "proof":
            found.proved.add(trial["instance"])
        if not step["reused"]:
            who = {"review": trial["reviewer"], "revision": trial["agent"]}.get(step["step"], "")
            found.seconds.setdefault((step["step"], who), []).append(float(step["seconds"]))


def duration(
    known: Measured, trials: Sequence[tuple[Instance, Crew, int]], asked: Asks, to_build: int, jobs: int
) -> float | None:
    """The seconds that a run may take; None where something that it will do was not measured."""
    if not trials or not asked.reviews + asked.revisions:
        return None
    names = [crew.spec.reviewer for _, crew, _ in trials]
    unproved = len({instance.id for instance, _, _ in trials} - known.proved)
    parts = [
        (to_build, [known.mean("image")]),
        (unproved, [known.mean("proof")]),
        (asked.reviews, [known.mean("review", name) for name in names]),
        (asked.revisions, [known.mean("revision", crew.spec.agent) for _, crew, _ in trials]),
        (asked.revisions, [known.mean("verdict")]),
    ]
    total = 0.0
    for count, means in parts:
        seen = [mean for mean in means if mean is not None]
        if count and len(seen) < len(means):
            return None
        total += count * statistics.fmean(seen) if count else 0.0
    return total / jobs


def memory_for(sandbox: int, jobs: int) -> int | None:
    """How many sandboxes of so many MiB this machine's memory holds, if fewer than ``jobs``; else None."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    slots = max(int(total / sandbox + 0.1), 1)  # a machine of 4 GB has a little less to give
    return slots if slots < jobs else None


def _last(records: Path) -> Iterator[object]:
    """Yield the last records of a file, as many as are read quickly."""
    try:
        with records.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - TAIL, 0))
            lines: Iterable[bytes] = file.read().splitlines()[1 if size > TAIL else 0 :]
    except OSError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # a killed run left it half-written
            continue
