"""A run's place on a worker, in this process: what it refuses, what its gateway asks for, what it leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.campaign.cluster import bundles
from pytest_crab.campaign.cluster.bench import Bench
from pytest_crab.campaign.cluster.plan import Release
from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.campaign.cluster.plan import ShippedCrew
from pytest_crab.campaign.cluster.plan import Task
from pytest_crab.campaign.cluster.plan import understood
from pytest_crab.campaign.cluster.plan import written
from pytest_crab.errors import Cancelled
from pytest_crab.errors import GatewayError
from pytest_crab.instances import load_instance
from pytest_crab.instances import lock
from pytest_crab.protocols import ModelAccess
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import bubblewrap
from pytest_crab.settings import Api
from pytest_crab.settings import ModelSettings
from pytest_crab.settings import Price
from pytest_crab.settings import Provider
from pytest_crab.testing.provider import ScriptedProvider
from pytest_crab.trial import CrewSpec
from pytest_crab.types import Instance

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"


class Keeper:
    """The controller's side: answers every question at once."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []
        self.why: str | None = None
        self.bench: Bench | None = None

    def close(self) -> None:
        self.told.append({"closed": True})

    def __call__(self, message: Mapping[str, Any]) -> None:
        self.told.append(message)
        if "ask" in message and self.bench is not None:
            answer = {"grant": message["ask"]} if self.why is None else {"refuse": message["ask"], "why": self.why}
            self.bench.hear(answer)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="crab-") as name:  # short, for the sockets in it
        monkeypatch.setenv("CRAB_STORE", f"{name}/store")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-0123456789")
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture
def make(folder: Path) -> Iterator[Callable[..., tuple[Bench, Keeper]]]:
    made: list[Bench] = []

    def bench(models: ModelSettings) -> tuple[Bench, Keeper]:
        keeper = Keeper()
        plan = RunPlan(
            run="r", release=Release.here(), resume="t", runtime="local", base_image="b", proof_runs=1, models=models
        )
        assert understood(RunPlan, written(plan)) == plan
        keeper.bench = Bench(plan, "w1", folder / "unpacked", keeper, keeper, keeper.close)
        made.append(keeper.bench)
        return keeper.bench, keeper

    yield bench
    for each in made:
        each.close()
    assert not [path for path in folder.glob("pytest-crab-*/runs/*") if path.is_dir()]


def task_of(bench: Bench, folder: Path, **other: Any) -> tuple[Instance, Task]:
    """A trial of an instance with the reference, whose files have come."""
    instance = load_instance(next(iter(sorted(QUICKSTART.glob("*/instance.yaml")))))
    files = bundles.instance_bundle(instance)
    crew = bundles.pack({"reviewer/x": b"", "agent/x": b""}, "human")
    for bundle in (files, crew):
        bundles.unpack(bundle.digest, bundle.content, folder / "unpacked")
    spec = CrewSpec(
        reviewer="human",
        reviewer_spec=REVIEWERS.spec("human", {}, Path("reviewer")),
        agent="reference",
        agent_spec=AGENTS.spec("reference", {}, Path("agent")),
    )
    shipped = ShippedCrew(spec=spec, bundle=crew.digest, modules={})
    told = {"key": "k", "bundle": files.digest, "instance": lock.digest(instance), "repeat": 1, **other}
    return instance, Task(run=bench.plan, crew=shipped, **told)


@pytest.mark.bubblewrap
def test_an_instance_that_is_another_one_is_refused(make: Any, folder: Path) -> None:
    bench, keeper = make(ModelSettings())
    instance, task = task_of(bench, folder, instance="0123456789abcdef")
    refused = bench.perform(understood(Task, written(task)))["refused"]
    assert f"worker w1 has {instance.id} as {lock.digest(instance)[:12]}, and the run has it as 0123456789ab" in refused
    bench.close()
    assert keeper.told == [{"closed": True}]


def test_a_worker_without_a_sandbox_says_so(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bubblewrap (bwrap) is not installed")
    bench, keeper = make(ModelSettings())
    bench.close()
    said = "there are workers that run code without a sandbox: bubblewrap (bwrap) is not installed"
    assert keeper.told == [{"warning": said}, {"closed": True}]


@pytest.mark.bubblewrap
def test_a_trial_that_begins_as_its_run_is_closed_does_not_run(
    make: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, keeper = make(ModelSettings())
    _, task = task_of(bench, folder)
    real = lock.digest

    def digest(instance: Instance) -> str:
        bench.close()
        return real(instance)

    monkeypatch.setattr(lock, "digest", digest)
    with pytest.raises(Cancelled, match="stopped on this worker"):
        bench.perform(task)
    assert keeper.told == [{"closed": True}]


def test_a_request_is_made_once_it_is_granted_and_settled_when_it_was(make: Any) -> None:
    with ScriptedProvider() as provider:
        providers = {
            "anthropic": Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
        }
        models = ModelSettings(providers=providers, prices={"scripted": Price(input=1.0, output=10.0)}, retries=0)
        bench, keeper = make(models)
        with bench.world.models.open(trial="t", step="review", attempt=1) as access:
            assert ask(access).status_code == 200
        keeper.why = "the budget of the run is spent"
        with (
            pytest.raises(GatewayError, match="the budget of the run is spent"),
            bench.world.models.open(trial="t", step="review", attempt=2) as access,
        ):
            assert ask(access).status_code == 400
        assert len(provider.asked) == 1
    first, settled, second = keeper.told
    assert (first["trial"], first["step"], first["model"]) == ("t", "review", "scripted")
    assert first["guess"] == first["most"] > settled["entry"]["cost_usd"] == pytest.approx(0.0003)
    assert settled["settle"] == first["ask"] != second["ask"]


def ask(access: ModelAccess) -> httpx2.Response:
    transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
    body = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
    with httpx2.Client(transport=transport, base_url="http://gateway", headers={"x-api-key": access.token}) as client:
        return client.post("/anthropic/v1/messages", json=body)
