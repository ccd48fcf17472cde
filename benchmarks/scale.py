"""What a run of 10,000 instances, 5 reviewers and 3 repeats takes on 1 to 256 workers: a model, not a measurement.

Trials are played through event by event: lanes of workers take instances, build or pull their images once, prove them
once, and let every trial review, revise and examine; engine slots, the registry and the providers' rate limits are
queues. Costs are the defaults below, or drawn from the records of a real run (``--records trials.jsonl``). With
``--held-against`` two such files, of a run with one job and of one with two, the second is predicted from the first.
"""

from __future__ import annotations

import argparse
import dataclasses
import heapq
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

#: How far pytest-crab looks ahead for each lane (campaign.executor).
AHEAD = 4
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: What a lane spends its time with, in the order of the table.
ACTIVITIES = ("review", "revision", "oracles", "image", "rate limit", "slot", "registry", "instance", "order", "idle")


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


#: Assumed too: how much of that one trial asks for and another.
SPREAD = (0.4, 0.7, 1.0, 1.9)
ASKED = ("review", "revision", "requests", "tokens", "usd")


def spread(sample: Sample) -> list[Sample]:
    """Samples that ask their models for more and for less, and the same on average."""
    return [dataclasses.replace(sample, **{name: getattr(sample, name) * each for name in ASKED}) for each in SPREAD]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The run and what it runs on; a limit that is infinite does not bind. Rates are per minute, megabytes per second.

    ``registry`` is shared by all workers, ``link`` is each worker's own. Trials are reported in order, and a worker
    begins none that is ``ahead`` (0: four times its lanes, as pytest-crab does) of the one to be reported next.
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
    ahead: int = 0

    @property
    def trials(self) -> int:
        """How many trials there are."""
        return self.instances * self.reviewers * self.repeats


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
class Job:
    """One instance on one worker: its trials still to begin, and the lanes that wait until it is proved."""

    left: list[Sample]
    begun: bool = False
    proved: bool = False
    waiting: list[tuple[float, Lane]] = field(default_factory=list)


@dataclass(slots=True)
class Worker:
    """One worker: its engine slots, the instance that it is at, and its trials, which are reported in order."""

    slots: list[float]
    job: Job | None = None
    begun: int = 0
    reported: int = 0
    ended: set[int] = field(default_factory=set)
    waiting: list[tuple[float, Lane]] = field(default_factory=list)

    def end(self, trial: int) -> None:
        """Note the end of a trial, and report what can be reported."""
        self.ended.add(trial)
        while self.reported in self.ended:
            self.ended.remove(self.reported)
            self.reported += 1


#: A lane of a worker: yields the moment at which it goes on, or what it waits for, and is sent the time.
Lane = Generator["float | Job | Worker", float, None]


class Model:
    """One run under way. Its random source is seeded, so the same arguments give the same outcome."""

    def __init__(
        self, setting: Setting, samples: Sequence[Sample], workers: int, *, seed: int = 1, trace: bool = False
    ) -> None:
        self.setting = setting
        self.workers = workers
        self.wall = 0.0
        self.usd = 0.0
        self.spent: Counter[str] = Counter()
        self.slot_seconds = 0.0
        self.lane_seconds = 0.0
        self.requests = Queue(setting.requests / 60)
        self.tokens = Queue(setting.tokens / 60)
        self.registry = Queue(setting.registry)
        self._samples = samples
        self._random = random.Random(seed)
        self._trace = trace
        self._next = 0
        self._events: list[tuple[float, int, Lane]] = []
        self._count = 0

    def run(self) -> Model:
        """Play it to its end."""
        for _ in range(self.workers):
            worker = Worker(slots=[0.0] * self.setting.slots)
            for _ in range(self.setting.jobs):
                self._go_on(self._lane(worker), None)
        while self._events:
            self.wall, _, lane = heapq.heappop(self._events)
            self._go_on(lane, self.wall)
        lanes = self.workers * self.setting.jobs
        self.spent["idle"] = max(lanes * self.wall - sum(self.spent.values()), 0.0)
        self.usd += lanes / self.setting.jobs * self.setting.worker_usd * self.wall / 3600
        return self

    def bounds(self) -> dict[str, float]:
        """The seconds that each limit alone would take: no run is faster than the largest of them."""
        return {
            "workers": self.lane_seconds / (self.workers * self.setting.jobs),
            "engine slots": self.slot_seconds / (self.workers * self.setting.slots),
            "requests": self.requests.bound,
            "tokens": self.tokens.bound,
            "registry": self.registry.bound,
        }

    def _go_on(self, lane: Lane, now: float | None) -> None:
        try:
            until = next(lane) if now is None else lane.send(now)
        except StopIteration:
            return
        if isinstance(until, float):
            self._push(until, lane)
        else:
            until.waiting.append((now or 0.0, lane))

    def _wake(self, waiting: list[tuple[float, Lane]], now: float, activity: str) -> None:
        for since, lane in waiting:
            self.spent[activity] += now - since
            self._push(now, lane)
        waiting.clear()

    def _push(self, at: float, lane: Lane) -> None:
        self._count += 1
        heapq.heappush(self._events, (at, self._count, lane))

    def _job(self, worker: Worker) -> Job | None:
        """What a lane turns to: the instance that its worker is at, else the next one of all."""
        if worker.job is not None and worker.job.left:
            return worker.job
        if self._next >= self.setting.instances:
            return None
        count = self.setting.reviewers * self.setting.repeats
        own = [self._samples[self._next % len(self._samples)]] * count if self._trace else []
        self._next += 1
        worker.job = Job(left=own or [self._random.choice(self._samples) for _ in range(count)])
        return worker.job

    def _lane(self, worker: Worker) -> Lane:
        now = yield 0.0
        while True:
            while worker.begun - worker.reported >= (self.setting.ahead or AHEAD * self.setting.jobs):
                now = yield worker
            job = self._job(worker)
            if job is None:
                return
            sample, trial = job.left.pop(), worker.begun
            worker.begun += 1
            if not job.begun:
                job.begun = True
                now = yield from self._pull(now, sample)
                now = yield from self._in_slot(now, worker.slots, sample.image, "image")
                now = yield from self._in_slot(now, worker.slots, sample.proof, "oracles")
                job.proved = True
                self._wake(job.waiting, now, "instance")
            elif not job.proved:
                now = yield job
            now = yield from self._ask(now, sample)
            now = yield from self._in_slot(now, worker.slots, sample.examine, "oracles")
            self.usd += sample.usd
            worker.end(trial)
            self._wake(worker.waiting, now, "order")

    def _pull(self, now: float, sample: Sample) -> Generator[float | Job | Worker, float, float]:
        begin = self.registry.take(now, sample.megabytes)
        done = max(self.registry.free, begin + sample.megabytes / self.setting.link)
        self.spent["registry"] += done - now
        self.lane_seconds += sample.megabytes / self.setting.link
        return (yield done)

    def _ask(self, now: float, sample: Sample) -> Generator[float | Job | Worker, float, float]:
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
    ) -> Generator[float | Job | Worker, float, float]:
        begin = max(now, slots[0])
        heapq.heapreplace(slots, begin + seconds)
        self.spent["slot"] += begin - now
        self.spent[activity] += seconds
        self.slot_seconds += seconds
        self.lane_seconds += seconds
        return (yield begin + seconds)


def from_records(path: Path) -> list[Sample]:
    """A sample for each trial of a run's trials.jsonl that made all of its steps itself. Raises OSError, ValueError."""
    found = []
    for line in path.read_bytes().splitlines():
        trial = json.loads(line)
        steps = _own_seconds(trial["steps"])
        if {"proof", "review"} <= set(steps):
            found.append(_sample(trial, steps))
    if not found:
        raise ValueError(f"{path} holds no trial that proved its oracles and asked its reviewer; use a fresh store")
    return found


def _own_seconds(steps: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Seconds by step, without those of the fetch and the image that a step waited for, which stand before it."""
    own: dict[str, float] = {}
    inside = 0.0
    for step in steps:
        if step["step"] in ("fetch", "image"):
            inside += step["seconds"]
            own[step["step"]] = step["seconds"]
            continue
        if not step["reused"]:
            own[step["step"]] = own.get(step["step"], 0.0) + max(step["seconds"] - inside, 0.0)
        inside = 0.0
    return own


def _sample(trial: dict[str, Any], steps: dict[str, float]) -> Sample:
    usages = [(trial.get(part) or {}).get("usage") or {} for part in ("review", "revision")]
    total = {name: sum(usage.get(name) or 0 for usage in usages) for name in ("requests", "cost_usd")}
    tokens = sum((usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0) for usage in usages)
    return Sample(
        image=steps.get("image", 0.0) + steps.get("fetch", 0.0),
        megabytes=0.0,
        proof=steps.get("proof", 0.0),
        review=steps.get("review", 0.0),
        revision=steps.get("revision", 0.0),
        examine=steps.get("verdict", 0.0),
        requests=total["requests"],
        tokens=tokens,
        usd=total["cost_usd"],
    )


def check() -> None:
    """Hold the model against what must be so. Raises AssertionError."""
    free = Setting(instances=40, reviewers=2, repeats=2, jobs=1, slots=1, requests=math.inf, tokens=math.inf)
    free = dataclasses.replace(free, registry=math.inf, link=math.inf, worker_usd=0.0)
    one = Model(free, [DEFAULT], 1).run()
    once, each = DEFAULT.image + DEFAULT.proof, DEFAULT.review + DEFAULT.revision + DEFAULT.examine
    assert math.isclose(one.wall, 40 * once + 160 * each), "one lane takes the sum of all steps"
    assert math.isclose(one.usd, 160 * DEFAULT.usd), "every trial is paid for once"
    four = Model(free, [DEFAULT], 4).run()
    assert math.isclose(four.wall, one.wall / 4), "four workers without limits take a quarter"
    cases = {
        "requests": dataclasses.replace(free, requests=2.0),
        "tokens": dataclasses.replace(free, tokens=40_000.0),
        "registry": dataclasses.replace(free, registry=0.05),
        "engine slots": dataclasses.replace(free, jobs=8),
    }
    slow = dataclasses.replace(DEFAULT, proof=2000.0, examine=900.0)
    for name, setting in cases.items():
        played = Model(setting, [slow if name == "engine slots" else DEFAULT], 2).run()
        bounds = played.bounds()
        assert max(bounds, key=bounds.__getitem__) == name, f"{name} binds where it is scarce"
        assert bounds[name] <= played.wall <= 1.1 * bounds[name] + 5 * (2000 + each), f"{name} decides the wall time"
    played = Model(dataclasses.replace(free, jobs=4), spread(DEFAULT), 3, seed=7).run()
    assert played.wall >= max(played.bounds().values()), "no run is faster than a limit allows"
    again = Model(dataclasses.replace(free, jobs=4), spread(DEFAULT), 3, seed=7).run()
    assert again.wall == played.wall, "the same seed gives the same run"
    assert math.isclose(sum(played.spent.values()), played.wall * 12), "every second of every lane is accounted for"


def table(setting: Setting, samples: Sequence[Sample], workers: Sequence[int], seed: int) -> Iterator[str]:
    """Yield the table, a line for each number of workers."""
    yield "| workers | wall | " + " | ".join(ACTIVITIES) + " | USD | binds | its share of the wall |"
    yield "|---" * (len(ACTIVITIES) + 5) + "|"
    for count in workers:
        played = Model(setting, samples, count, seed=seed).run()
        lanes = count * setting.jobs * played.wall
        shares = " | ".join(f"{100 * played.spent[name] / lanes:.1f}%" for name in ACTIVITIES)
        bounds = played.bounds()
        binding = max(bounds, key=bounds.__getitem__)
        share = f"{100 * bounds[binding] / played.wall:.0f}%"
        yield f"| {count} | {in_words(played.wall)} | {shares} | {played.usd:,.0f} | {binding} | {share} |"


def in_words(seconds: float) -> str:
    """Days, hours or minutes."""
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.1f} d"
    return f"{seconds / 3600:.1f} h" if seconds >= 7200 else f"{seconds / 60:.1f} min"


def held_against(one: Path, two: Path, seen: Sequence[float]) -> Iterator[str]:
    """Yield what the model makes of runs with one job and with two, of the first one's steps, and what was seen."""
    samples = from_records(one)
    quiet = Setting(instances=len(samples), reviewers=1, repeats=1, requests=math.inf, tokens=math.inf)
    quiet = dataclasses.replace(quiet, registry=math.inf, link=math.inf)
    for jobs, path, wall in zip((1, 2), (one, two), seen, strict=True):
        said = Model(dataclasses.replace(quiet, jobs=jobs), samples, 1, trace=True).run().wall
        own = Model(dataclasses.replace(quiet, jobs=jobs), from_records(path), 1, trace=True).run().wall
        yield (
            f"{jobs} at a time: {said:.1f} s predicted from the run with one, {own:.1f} s from its own steps, "
            f"{wall:.1f} s seen ({100 * (said / wall - 1):+.0f}%, {100 * (own / wall - 1):+.0f}%)"
        )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, help="draw what trials cost from this trials.jsonl")
    for each in dataclasses.fields(Setting):
        kind = int if isinstance(each.default, int) else float
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=kind, default=each.default)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-against", type=Path, nargs=2, metavar=("ONE", "TWO"))
    parser.add_argument("--seen", type=float, nargs=2, metavar="SECONDS", help="how long those two runs took")
    return parser.parse_args()


def main() -> int:
    """Check the model, then print the table or the comparison."""
    asked = arguments()
    check()
    if asked.held_against:
        if not asked.seen:
            sys.exit("--held-against needs --seen: the seconds that the two runs took")
        print("\n".join(held_against(*asked.held_against, asked.seen)))
        return 0
    setting = Setting(**{each.name: getattr(asked, each.name) for each in dataclasses.fields(Setting)})
    samples = from_records(asked.records) if asked.records else spread(DEFAULT)
    print(f"{setting.trials:,} trials; {setting}\n")
    for line in table(setting, samples, asked.workers, asked.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
