"""A model of a run, played event by event: Dask's placement and the plugin's window as rules, limits as queues."""

from __future__ import annotations

import dataclasses
import heapq
import random
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from scale_placement import Placement

from pytest_crab.campaign.trial_pool import AHEAD

#: What a lane spends its time with, in the order of the table.
ACTIVITIES = (
    "review", "revision", "oracles", "image", "rate limit", "slot", "registry", "instance", "head", "order", "idle"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one trial costs: seconds by step, what its models are asked, US dollars. Image and proof: once an instance.

    ``image`` and ``proof`` and ``examine`` keep an engine slot busy, ``megabytes`` come from a registry or an index.
    """

    image: float
    megabytes: float
    proof: float
    review: float
    revision: float
    examine: float
    requests: float
    tokens: float
    usd: float


#: Measured on 2 cores with Docker 20.10, an idle machine: the image of click 8.1.7 with pytest (6.4 s, 56 MB above its
#: base); an oracle run is an exec of 0.2 s, a container 0.22 s, so that a proof of two oracles with two runs of head,
#: reference and the comment's own reference, and two checks each, is 14 runs; a verdict is 2 and the pass_to_pass run.
#: Assumed, since no provider was asked: a client that reviews for 90 s with 12 requests, an agent that revises for
#: 150 s with 18, 20,000 tokens a request of which nine in ten are read from a cache, and 1.10 US dollars for both.
DEFAULT = Sample(
    image=6.4,
    megabytes=56,
    proof=14 * 0.2 + 0.22,
    review=90,
    revision=150,
    examine=3 * 0.2 + 0.22,
    requests=30,
    tokens=600_000,
    usd=1.10,
)


#: Assumed too: how much of that one trial asks for and another, and that one review after so many ends by time-out.
SPREAD = (0.4, 0.7, 1.0, 1.9)
ASKED = ("review", "revision", "requests", "tokens", "usd")
TAIL, TIMEOUT = 200, 1800.0


def spread(sample: Sample) -> list[Sample]:
    """Samples that ask their models for more and for less, the same on average, and one review without an end."""
    few = [dataclasses.replace(sample, **{name: getattr(sample, name) * each for name in ASKED}) for each in SPREAD]
    return [*few * (TAIL // len(few)), dataclasses.replace(sample, review=TIMEOUT, revision=0.0)]


#: How many trials a second the one process that runs pytest gives out and takes back: by cluster.py, 27 November 2026,
#: it is busy for 41 ms with a trial whose steps a worker makes, on 2 cores with a load of 22. Dask's scheduler, another
#: process, is busy for 35 ms.
HEAD = 25.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The run and what it runs on; a limit that is infinite does not bind.

    Requests and tokens are per minute, megabytes and ``head`` per second. ``registry`` is shared by all workers, and
    ``link`` is each worker's own; ``head`` is how many trials the process of pytest gives out and takes back. Trials
    are reported in order, and none is begun that is ``ahead`` times the lanes of all workers after the one to be
    reported next.
    """

    instances: int = 10_000
    reviewers: int = 5
    repeats: int = 3
    jobs: int = 4
    slots: int = 2
    requests: float = 4_000.0
    tokens: float = 40_000_000.0
    registry: float = 250.0
    link: float = 60.0
    worker_usd: float = 0.10
    head: float = HEAD
    ahead: int = AHEAD

    @property
    def each(self) -> int:
        """How many trials an instance has."""
        return self.reviewers * self.repeats

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return self.instances * self.each


@dataclass(slots=True)
class Queue:
    """A resource that serves one thing after another at a rate; infinite: at once."""

    rate: float
    free: float = 0.0
    asked: float = 0.0

    def take(self, now: float, amount: float) -> float:
        """Claim so much; when the claim is served in full is ``free`` afterwards, and this is when it begins."""
        begin = max(now, self.free)
        self.free = begin + amount / self.rate
        self.asked += amount
        return begin

    @property
    def bound(self) -> float:
        """The seconds in which all that was asked for can be served."""
        return self.asked / self.rate


@dataclass(slots=True)
class Place:
    """One instance on one worker, and the trials that wait there until it is proved."""

    proved: bool = False
    waiting: list[tuple[float, Lane]] = field(default_factory=list)


@dataclass(slots=True)
class Worker:
    """One worker: when each of its engine slots is free, and the instances that it has."""

    slots: list[float]
    places: dict[int, Place] = field(default_factory=dict)


#: A trial in a lane of a worker: yields the moment at which it goes on, or what it waits for, and is sent the time.
Lane = Generator["float | Place", float, None]


class Model:
    """One run under way. Its random source is seeded, so the same arguments give the same outcome."""

    def __init__(
        self, setting: Setting, samples: Sequence[Sample], workers: int, *, seed: int = 1, trace: bool = False
    ) -> None:
        self.setting = setting
        self.lanes = workers * setting.jobs
        self.wall = 0.0
        self.usd = 0.0
        self.spent: dict[str, float] = defaultdict(float)
        self.slot_seconds = 0.0
        self.lane_seconds = 0.0
        self.requests = Queue(setting.requests / 60)
        self.tokens = Queue(setting.tokens / 60)
        self.registry = Queue(setting.registry)
        self.head = Queue(setting.head)
        self._samples = samples
        self._random = random.Random(seed)
        self._trace = trace
        self._workers = [Worker(slots=[0.0] * setting.slots) for _ in range(workers)]
        self._placement = Placement(workers, setting.jobs)
        self._submitted = self._reported = self._running = 0
        self._ended: set[int] = set()
        self._events: list[tuple[float, int, Lane]] = []
        self._count = 0

    def run(self) -> Model:
        """Play it to its end."""
        self._give(0.0)
        while self._events:
            now, _, lane = heapq.heappop(self._events)
            full = self._submitted < self.setting.trials
            self.spent["order" if full else "idle"] += (self.lanes - self._running) * (now - self.wall)
            self.wall = now
            self._go_on(lane, now)
        self.usd += len(self._workers) * self.setting.worker_usd * self.wall / 3600
        return self

    @property
    def builds(self) -> float:
        """On how many workers an instance was built and proved, on average."""
        return sum(len(worker.places) for worker in self._workers) / self.setting.instances

    def bounds(self) -> dict[str, float]:
        """The seconds that each limit alone would take: no run is faster than the largest of them."""
        return {
            "workers": self.lane_seconds / self.lanes,
            "engine slots": self.slot_seconds / (len(self._workers) * self.setting.slots),
            "requests": self.requests.bound,
            "tokens": self.tokens.bound,
            "registry": self.registry.bound,
            "head": self.head.bound,
        }

    # --- who runs what ----------------------------------------------------------------------------------------------

    def _give(self, now: float) -> None:
        """Submit what the window allows, and give to workers what they take."""
        setting = self.setting
        until = min(setting.trials, self._reported + setting.ahead * self.lanes)
        for trial in range(self._submitted, until):
            self._placement.wait(trial, trial // setting.each)
        self._submitted = max(self._submitted, until)
        while (picked := self._placement.pick()) is not None:
            self._running += 1
            self._go_on(self._trial(*picked, now), None)

    def _end(self, trial: int, worker: int, now: float) -> None:
        """Note the end of a trial, report what can be reported, and go on."""
        self._placement.done(worker)
        self._running -= 1
        self._ended.add(trial)
        while self._reported in self._ended:
            self._ended.remove(self._reported)
            self._reported += 1
        self._give(now)

    def _sample(self, instance: int) -> Sample:
        return self._samples[instance % len(self._samples)] if self._trace else self._random.choice(self._samples)

    # --- events -----------------------------------------------------------------------------------------------------

    def _go_on(self, lane: Lane, now: float | None) -> None:
        try:
            until = next(lane) if now is None else lane.send(now)
        except StopIteration:
            return
        if isinstance(until, float):
            self._push(until, lane)
        else:
            until.waiting.append((self.wall, lane))

    def _push(self, at: float, lane: Lane) -> None:
        self._count += 1
        heapq.heappush(self._events, (at, self._count, lane))

    # --- a trial ----------------------------------------------------------------------------------------------------

    def _trial(self, trial: int, number: int, now: float) -> Lane:
        instance, worker = trial // self.setting.each, self._workers[number]
        sample, place = self._sample(instance), worker.places.get(instance)
        if place is None:
            place = worker.places[instance] = Place()
            now = yield from self._pull(now, sample)
            now = yield from self._in_slot(now, worker.slots, sample.image, "image")
            now = yield from self._in_slot(now, worker.slots, sample.proof, "oracles")
            place.proved = True
            for since, lane in place.waiting:
                self.spent["instance"] += now - since
                self._push(now, lane)
            place.waiting.clear()
        elif not place.proved:
            now = yield place
        now = yield from self._ask(now, sample)
        now = yield from self._in_slot(now, worker.slots, sample.examine, "oracles")
        taken = max(self.head.take(now, 1), self.head.free)
        self.spent["head"] += taken - now
        now = yield taken
        self.usd += sample.usd
        self._end(trial, number, now)

    def _pull(self, now: float, sample: Sample) -> Generator[float | Place, float, float]:
        begin = self.registry.take(now, sample.megabytes)
        done = max(self.registry.free, begin + sample.megabytes / self.setting.link)
        self.spent["registry"] += done - now
        self.lane_seconds += sample.megabytes / self.setting.link
        return (yield done)

    def _ask(self, now: float, sample: Sample) -> Generator[float | Place, float, float]:
        """Review and revise, which is over no sooner than the providers' limits let all requests through."""
        begin = max(self.requests.take(now, sample.requests), self.tokens.take(now, sample.tokens))
        busy = sample.review + sample.revision
        done = max(begin + busy, self.requests.free, self.tokens.free)
        self.spent["rate limit"] += max(done - now - busy, 0.0)
        self.spent["review"] += sample.review
        self.spent["revision"] += sample.revision
        self.lane_seconds += busy
        return (yield done)

    def _in_slot(
        self, now: float, slots: list[float], seconds: float, activity: str
    ) -> Generator[float | Place, float, float]:
        begin = max(now, slots[0])
        heapq.heapreplace(slots, begin + seconds)
        self.spent["slot"] += begin - now
        self.spent[activity] += seconds
        self.slot_seconds += seconds
        self.lane_seconds += seconds
        return (yield begin + seconds)
