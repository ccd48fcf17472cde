"""Two hundred trials in which everything fails now and then: nothing is lost, repeated or invented."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.adapters import AdapterSpec
from pytest_crab.campaign.trial_pool import TrialPool, costs_of_run
from pytest_crab.errors import (
    AgentError,
    Cancelled,
    ContestantError,
    CrabError,
    EngineError,
    GatewayError,
    ReviewerError,
    StoreError,
)
from pytest_crab.harness.inside.channel import KEY, frame
from pytest_crab.protocols import Checkout, Command, Completed, Image
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, CrewSpec, RunContext, run_trial
from pytest_crab.trial.retries import RETRIES
from pytest_crab.types import Finding, Instance, PullRequest, Reason, Review, Revision, Trial, Verdict

INSTANCES, REPEATS, SHARE = 8, 25, 0.05
DIFF = (
    "diff --git a/value.py b/value.py\n--- a/value.py\n+++ b/value.py\n@@ -1,2 +1,2 @@\n"
    " def value():\n-    return 2\n+    return {}\n"
)
AT_ONCE = {name: RetryPolicy(most=patience.most, wait=0) for name, patience in RETRIES.items()}
STATUSES = (None, "rate_limited", "overloaded", "timeout", "bad_output", "client_error")


@dataclass
class Weather:
    """Decides what fails, by a seed and by how often the same was asked before, so that threads change nothing.

    ``ledger`` has a line for each thing that was begun, that failed, and that the store has kept.
    """

    seed: int
    share: float = SHARE
    ledger: Counter[tuple[str, str]] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, thing: str) -> None:
        with self._guard:
            self.ledger[what, thing] += 1

    def dice(self, thing: str) -> float | None:
        """None if all is well; otherwise a number from 0 to 1 that says what goes wrong."""
        with self._guard:
            self._asked[thing] += 1
            number = self._asked[thing]
        drawn = int(hashlib.sha256(f"{self.seed} {thing} {number}".encode()).hexdigest()[:12], 16) / 16**12
        return drawn / self.share if drawn < self.share else None

    def contestant(self, thing: str, failure: type[ContestantError]) -> None:
        """Fail as contestants, gateways and disks do, or not."""
        self.note("began", thing)
        drawn = self.dice(thing)
        if drawn is None:
            return
        self.note("failed", thing)
        ways = [failure(f"{status}", status=status) for status in STATUSES]
        others = [GatewayError("gone", passing=True), GatewayError("no money"), EngineError("gone", passing=True)]
        errors: list[Exception] = [*ways, *others, OSError(28, "No space left on device")]
        raise errors[int(drawn * len(errors))]


class FlakyStore(FileStore):
    """A real store on a disk that fails now and then."""

    def __init__(self, folder: Path, weather: Weather) -> None:
        super().__init__(folder)
        self.weather = weather

    def get(self, step: str, key: str) -> Any | None:
        if self.weather.dice(f"get {key}") is not None:
            raise StoreError("not now")
        return super().get(step, key)

    def put(self, step: str, key: str, value: Any) -> None:
        thing = f"{step} {(value.get('version') if isinstance(value, dict) else None) or key}"
        if self.weather.dice(f"put {key}") is not None:
            self.weather.note("lost", thing)
            raise StoreError("no room")
        super().put(step, key, value)
        self.weather.note("kept", thing)

    @contextlib.contextmanager
    def lock(self, step: str, key: str, stopped: threading.Event | None = None) -> Iterator[None]:
        if self.weather.dice(f"lock {key}") is not None:
            raise StoreError("no lock")
        with super().lock(step, key, stopped):
            yield


@dataclass
class FlakyRuntime:
    """A runtime that knows what each oracle would say, and whose engine fails now and then or kills a sandbox."""

    weather: Weather
    name: str = "made up"

    def identity(self, instance: Instance, source: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"runtime": self.name, "instance": instance.id}

    def prepare(self, instance: Instance, snapshot: Any, source: Mapping[str, Any]) -> Image:
        self._engine(f"prepare {instance.id}")
        return Image(key="0" * 64, reference="r", tree="/t", workdir="/w", interpreter="python", site=())

    def execute(self, image: Image, commands: Sequence[Command], **_: Any) -> tuple[Completed, ...]:
        job = json.loads(commands[0].stdin[KEY + 8 :])
        states = sorted(job["states"])
        self._engine(f"execute {states}")
        lines: list[Mapping[str, Any]] = [{"hello": "3"}]
        for run in job["runs"]:
            changes = job["states"][run["state"]]
            green = any(b"return 3" in base64.b64decode(content or "") for _, _, content in changes)
            test = {"id": "test_value", "outcome": "passed" if green else "failed"}
            told = {"id": run["id"], "ending": "completed", "exit_code": 1, "tests": [test], "tripwire": True}
            lines.append({"run": {**told, "seconds": 0}})
        lines += [{"leaks": {"git": None}}] if "leaks" in job else []
        sent = _messages(commands[0].stdin[:KEY], lines)
        if self.weather.dice(f"sandbox {states}") is not None:
            return (Completed(exit_code=None, stdout=sent[0], stderr=b""),)
        return (Completed(exit_code=0, stdout=b"".join(sent), stderr=b""),)

    @contextlib.contextmanager
    def clone(self, snapshot: Any, request: Any) -> Iterator[Any]:
        """A clone that shows nothing of the instance."""
        done = Completed(exit_code=0, stdout=b"one mount\n", stderr=b"")
        yield types.SimpleNamespace(run=lambda *_, **__: done)

    def _engine(self, thing: str) -> None:
        drawn = self.weather.dice(thing)
        if drawn is not None:
            raise EngineError("the engine is away", passing=drawn < 0.5)

    def stop(self) -> None:
        pass


def _messages(key: bytes, lines: Sequence[Mapping[str, Any]]) -> list[bytes]:
    sent = [frame(key, number, json.dumps(line).encode()) for number, line in enumerate(lines)]
    return [*sent, frame(key, len(lines), b"", last=True)]


@dataclass(frozen=True)
class Crewmate:
    """Reviewer and agent of one repeat: what they do is known by its number."""

    weather: Weather
    repeat: int
    simulated: bool = False

    def identity(self) -> Mapping[str, Any]:
        return {"repeat": self.repeat}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        thing = f"{pull_request.title} {self.repeat}"
        self.weather.contestant(f"review {thing}", ReviewerError)
        findings = () if self.repeat % 5 == 0 else (Finding(body=thing),)
        return Review(findings=findings, version=thing)

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        thing = f"{pull_request.title} {self.repeat}"
        self.weather.contestant(f"revision {thing}", AgentError)
        value = 3 if self.repeat % 2 else 4
        return Revision(diff=DIFF.format(f"{value}  # {thing}"), version=thing)


def expected(repeat: int) -> Reason:
    return Reason.NO_FINDINGS if repeat % 5 == 0 else Reason.GREEN if repeat % 2 else Reason.FAILED


@pytest.fixture
def instances(tmp_path: Path, make_instance: Callable[[Path], Instance]) -> list[Instance]:
    return [make_instance(tmp_path / "set" / f"values-{number}") for number in range(INSTANCES)]


@pytest.fixture
def campaign(tmp_path: Path, instances: list[Instance]) -> Callable[[Weather], dict[tuple[str, int], Trial]]:
    """Runs all trials in some weather on one store; the records."""

    def run(weather: Weather) -> dict[tuple[str, int], Trial]:
        store = FlakyStore(tmp_path / "store", weather)
        own = RunFolder()
        run_context = RunContext(
            runtime=FlakyRuntime(weather),  # type: ignore[arg-type]
            store=store,
            cache=store.cache,
            run=own,
            resume="one",
            retries=AT_ONCE,
        )
        pool = TrialPool(ThreadPoolExecutor(4), run_context.stop, costs_of_run)
        keys = [(instance, repeat) for repeat in range(1, REPEATS + 1) for instance in instances]
        try:
            for instance, repeat in keys:
                pool.submit((instance.id, repeat), _work(instance, repeat, weather, run_context))
            found = {key: pool.result(key, lambda _: None) for key in ((one.id, number) for one, number in keys)}
        finally:
            pool.stop()
            own.close()
        assert None not in found.values()
        return {key: trial for key, trial in found.items() if trial is not None}

    return run


def _work(
    instance: Instance, repeat: int, weather: Weather, run_context: RunContext
) -> Callable[[Callable[[str], None]], Trial]:
    mate = Crewmate(weather, repeat)
    spec = AdapterSpec(path="made:Up", settings={})
    crew = Crew(
        spec=CrewSpec(reviewer="mate", reviewer_spec=spec, agent="mate", agent_spec=spec), reviewer=mate, agent=mate
    )
    return lambda notice: run_trial(instance, crew, run_context, repeat=repeat, notice=notice)


@pytest.mark.slow(reason="two hundred trials, twice")
@pytest.mark.parametrize("seed", [7])
def test_two_hundred_trials_in_which_everything_fails_now_and_then(
    seed: int, campaign: Callable[[Weather], dict[tuple[str, int], Trial]]
) -> None:
    stormy = Weather(seed)
    first = campaign(stormy)
    assert len(first) == 200
    unknown = 0
    for (name, repeat), trial in first.items():
        (result,) = trial.results
        if result.verdict is Verdict.UNKNOWN:
            unknown += 1
            assert result.reason in (Reason.BROKEN, Reason.REVIEWER_ERROR, Reason.AGENT_ERROR)
            assert trial.error
        else:
            assert result.reason is expected(repeat), (name, repeat, result)
    assert 20 <= unknown <= 140
    assert any(step.retried for trial in first.values() for step in trial.steps)

    calm = Weather(seed, share=0.0)
    second = campaign(calm)
    assert {key: trial.results[0].reason for key, trial in second.items()} == {key: expected(key[1]) for key in first}
    both = stormy.ledger + calm.ledger
    steps = {f"review {name} {repeat}" for name, repeat in first}
    steps |= {f"revision {name} {repeat}" for name, repeat in first if repeat % 5}
    assert {thing for what, thing in both if what == "began"} == steps
    for step in steps:
        assert both["began", step] == 1 + both["failed", step] + both["lost", step], step
        assert both["kept", step] == 1
    assert {count for (what, _), count in both.items() if what == "kept"} == {1}


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (EngineError("away", passing=True), 5),
        (EngineError("no such place"), 1),
        (GatewayError("died", passing=True), 3),
        (GatewayError("no money"), 1),
        (ReviewerError("busy", status="rate_limited"), 4),
        (ReviewerError("busy", status="overloaded"), 4),
        (ReviewerError("late", status="timeout"), 1),
        (ReviewerError("prose", status="bad_output"), 1),
        (ReviewerError("no key", status="auth"), 1),
        (ReviewerError("crashed"), 1),
        (StoreError("no room"), 1),
    ],
    ids=str,
)
def test_how_often_is_a_matter_of_class(
    error: CrabError, tries: int, instances: list[Instance], tmp_path: Path
) -> None:
    weather = Weather(0, share=0.0)
    asked: list[int] = []

    class Poor(Crewmate):
        def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
            asked.append(checkout.services._attempt)  # type: ignore[attr-defined]
            raise error

    trial = _one(instances[0], Poor(weather, 1), weather, tmp_path)
    assert asked == list(range(1, tries + 1))
    assert trial.results[0].verdict is Verdict.UNKNOWN
    assert trial.error is not None
    assert (f"tried {tries} times" in trial.error) is (tries > 1)


def test_what_passes_is_on_the_record_and_no_miss_is_tried_again(instances: list[Instance], tmp_path: Path) -> None:
    weather = Weather(0, share=0.0)
    errors = [ReviewerError("a", status="overloaded"), EngineError("b", passing=True)]

    class Lucky(Crewmate):
        def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
            if errors:
                raise errors.pop(0)
            return super().review(pull_request, checkout)

    trial = _one(instances[0], Lucky(weather, 2), weather, tmp_path)
    assert trial.results[0].reason is Reason.FAILED
    assert {step.step: step.retried for step in trial.steps if step.retried} == {"review": ("overloaded", "engine")}
    assert trial.error is None
    assert {thing: count for (what, thing), count in weather.ledger.items() if what == "began"} == {
        "review values-0 2": 1,
        "revision values-0 2": 1,
    }


def test_a_stopped_run_does_not_wait_for_its_next_try(instances: list[Instance], tmp_path: Path) -> None:
    weather = Weather(0, share=0.0)
    stopped = threading.Event()

    class Busy(Crewmate):
        def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
            threading.Timer(0.05, stopped.set).start()
            raise ReviewerError("busy", status="rate_limited")

    with pytest.raises(Cancelled, match="tried again"):
        _one(
            instances[0],
            Busy(weather, 1),
            weather,
            tmp_path,
            cancelled=stopped,
            retries={"rate_limited": RetryPolicy(most=1, wait=600)},
        )


def _one(instance: Instance, mate: Crewmate, weather: Weather, folder: Path, **changes: Any) -> Trial:
    store = FlakyStore(folder / "store", weather)
    own = RunFolder()
    parts: dict[str, Any] = {"runtime": FlakyRuntime(weather), "store": store, "cache": store.cache, "run": own}
    run_context = RunContext(**{**parts, "resume": "one", "retries": AT_ONCE, **changes})
    spec = AdapterSpec(path="made:Up", settings={})
    crew = Crew(
        spec=CrewSpec(reviewer="mate", reviewer_spec=spec, agent="mate", agent_spec=spec), reviewer=mate, agent=mate
    )
    try:
        return run_trial(instance, crew, run_context, repeat=mate.repeat)
    finally:
        own.close()


@pytest.mark.parametrize("name", sorted(RETRIES))
def test_each_wait_is_twice_as_long_and_none_too_long(name: str) -> None:
    patience = RETRIES[name]
    for failed in range(1, patience.most + 1):
        pause = patience.pause(failed)
        assert pause is not None
        assert 0.75 * patience.wait * 2 ** (failed - 1) <= pause <= min(1.25 * patience.wait * 2 ** (failed - 1), 120)
    assert patience.pause(patience.most + 1) is None
