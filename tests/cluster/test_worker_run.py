"""A run's place on a worker, in this process: what it refuses, what its gateway asks for, what it leaves."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from pytest_crab.adapters import AdapterSpec
from pytest_crab.agents import AGENTS
from pytest_crab.campaign.cluster import bundles, worker_run
from pytest_crab.campaign.cluster.plan import CrewPayload, TrialAnswer, TrialTask
from pytest_crab.campaign.cluster.remote_store import StepServer
from pytest_crab.campaign.cluster.stored import StoredTrials
from pytest_crab.campaign.cluster.worker_run import WorkerRun
from pytest_crab.campaign.trial_pool import TRIALS, TrialWork
from pytest_crab.errors import Cancelled, GatewayError
from pytest_crab.instances import load_instance
from pytest_crab.model_access import ModelAccess
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import bubblewrap, run_lock
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.store import FileStore
from pytest_crab.testing.provider import ScriptedProvider, say
from pytest_crab.trial import Crew, CrewSpec
from tests.cluster.conftest import PLAN


class Keeper:
    """The controller's side: every trial is admitted with ``allowance``, and no step is stored."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []
        self.allowance: float | None = None
        self.wanted = True
        self.there = True

    def send(self, message: Mapping[str, Any]) -> bool:
        self.told.append(message)
        return self.there

    def note(self, message: Mapping[str, Any]) -> None:
        self.told.append(message)

    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if "begin" in message:
            return {"allowance": self.allowance} if self.wanted else {"unwanted": True}
        if "notice" in message:
            self.told.append(message)
            return {"noted": True} if self.there else {}
        return {"lacks": message["keys"]}

    def close(self) -> None:
        self.told.append({"closed": True})

    def of(self, name: str) -> list[Any]:
        return [message[name] for message in self.told if name in message]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    assert tmp_path.is_dir()  # made before the folder for temporary files is another one
    with tempfile.TemporaryDirectory(prefix="crab-") as name:  # short, for the sockets in it
        monkeypatch.setenv("CRAB_STORE", f"{name}/store")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-0123456789")
        monkeypatch.delenv("CRAB_DISK_BUDGET", raising=False)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture
def make(folder: Path) -> Iterator[Callable[..., tuple[WorkerRun, Keeper]]]:
    made: list[WorkerRun] = []

    def run(
        models: ModelSettings | None = None, *crews: CrewPayload, budget: float | None = None
    ) -> tuple[WorkerRun, Keeper]:
        keeper = Keeper()
        plan = dataclasses.replace(PLAN, models=models or PLAN.models, crews=crews or (crew(),), budget=budget)
        assert pickle.loads(pickle.dumps(plan)) == plan
        made.append(WorkerRun(plan, "w1", keeper))
        return made[-1], keeper

    yield run
    for each in made:
        each.close()
    assert not [path for path in folder.glob("pytest-crab-*/*/*") if path.is_dir()]
    assert not run_lock.any_alive()  # so that environments may be pruned


def crew(path: str | None = None, **modules: str) -> CrewPayload:
    """A crew whose agent has the reference, and whose reviewer is ``human`` or the class at ``path``."""
    own = AdapterSpec(path=path or "", settings={})
    spec = CrewSpec(
        reviewer="human",
        reviewer_spec=REVIEWERS.spec("human", {}, Path("reviewer")) if path is None else own,
        agent="simulated",
        agent_spec=AGENTS.spec("simulated", {}, Path("agent")),
    )
    return CrewPayload(spec=spec, files=bundles.pack({"reviewer/x": b"", "agent/x": b""}, "x"), modules=modules)


def perform(run: WorkerRun, room: Any) -> Any:
    """Run a trial of an instance of the made-up set."""
    path = room.folder / "instances" / "pots-1" / "instance.yaml"
    document = yaml.safe_load(path.read_text())
    document["comments"][0]["reference"] = "reference.diff"
    path.write_text(yaml.safe_dump(document))
    task = TrialTask(key="k", topic=run.plan.topic, crew="human", repeat=1)
    return run.perform(task, bundles.pack_instance(load_instance(path)))


@pytest.mark.bubblewrap
def test_a_trial_says_what_it_does_and_returns_its_record(make: Any, room: Any) -> None:
    run, keeper = make()
    assert run.prepare() == []
    answer = perform(run, room)
    assert {score.label for score in answer.trial.scores} == {"caught"}, answer.trial.error
    assert answer.shown.title == "pots-1"
    kept = [message["step"] for message in keeper.told if "value" in message]
    assert list(dict.fromkeys(kept)) == ["proof", "review", "revision", "verdict"]
    begun = keeper.of("notice")
    assert begun.index("proof") < begun.index("review") < begun.index("verdict")
    assert keeper.told[-1] == {"key": "k", "end": False}


@pytest.mark.bubblewrap
def test_what_a_worker_has_sent_pytest_answers_by_itself_as_long_as_no_step_lacks(
    make: Any, room: Any, tmp_path: Path
) -> None:
    run, keeper = make()
    assert run.prepare() == []
    made = perform(run, room)
    store = FileStore(tmp_path / "store")
    server = StepServer(store, (), ())
    for message in keeper.told:
        if "value" in message:
            assert server.answer(message) == {}
    instance, (payload,) = load_instance(room.folder / "instances" / "pots-1" / "instance.yaml"), run.plan.crews

    def answer(crew: Crew, **changes: Any) -> TrialAnswer | None:
        stored = StoredTrials(dataclasses.replace(run.plan, **changes), store.folder, room.folder)
        try:
            return stored.answer(TrialWork(instance=instance, crew=crew, repeat=1, here=lambda *_: None), run.place)
        finally:
            stored.close()

    human = Crew.build(payload.spec)
    found = answer(human)
    assert found is not None
    assert found.shown == made.shown
    assert found.trial.scores == made.trial.scores
    assert [(step.step, step.reused) for step in found.trial.steps if step.step != "fetch"] == [
        (name, True) for name in ("proof", "review", "revision", "verdict")
    ]
    assert answer(human, fresh=("review",)) is None
    assert answer(human, proof_runs=2) is None
    store.forget("revision", next(message["key"] for message in keeper.told if message.get("step") == "revision"))
    assert answer(human) is None
    assert not list((store.folder / "steps" / "revision").glob("*/*"))


def test_a_worker_without_a_sandbox_says_so(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bubblewrap (bwrap) is not installed")
    run, keeper = make()
    assert run.prepare() == []
    said = "there are workers that run code without a sandbox: bubblewrap (bwrap) is not installed"
    assert said in keeper.of("warning")


@pytest.mark.parametrize("module", ["json", "crab_test_not_there"])
def test_a_crew_of_other_code_is_refused(make: Any, module: str) -> None:
    run, _ = make(None, crew(f"{module}:Own", **{module: "f00d" * 16}))
    (problem,) = run.prepare()
    assert f"{module} (human)" in problem


@pytest.mark.bubblewrap
def test_a_trial_that_nobody_wants_is_not_run(make: Any, room: Any) -> None:
    run, keeper = make()
    assert run.prepare() == []
    keeper.wanted = False
    with pytest.raises(Cancelled):
        perform(run, room)
    assert keeper.of("notice") == []


@pytest.mark.bubblewrap
def test_under_a_budget_no_model_is_asked_before_the_controller_has_noted_it(make: Any, room: Any) -> None:
    run, keeper = make(budget=1.0)
    assert run.prepare() == []
    keeper.there = False
    with pytest.raises(Cancelled):
        perform(run, room)
    assert keeper.of("notice")[-1] == "review"
    assert keeper.told[-1] == {"key": "k", "end": False}


def test_a_step_that_waited_for_a_slot_is_noted_already(make: Any) -> None:
    run, keeper = make(budget=1.0)
    assert run.prepare() == []
    notice = worker_run._Notices(run, "k", TRIALS.asking)
    notice("review")
    keeper.there = False
    for step in ("review: waits for a slot", "review", "verdict"):
        notice(step)
    with pytest.raises(Cancelled):
        notice("revision")


def test_a_stopped_run_begins_no_trial_and_leaves_nothing(make: Any, room: Any) -> None:
    run, _ = make()
    assert run.prepare() == []
    run.close()
    with pytest.raises(Cancelled):
        perform(run, room)


def test_a_trial_pays_no_more_than_it_is_allowed(make: Any) -> None:
    with ScriptedProvider() as provider:
        providers = {
            "anthropic": Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
        }
        provider.script = lambda _asked: say("ok", usage={"input": 10, "output": 100})
        models = ModelSettings(providers=providers, prices={"scripted": Price(input=1.0, output=10.0)}, retries=0)
        run, keeper = make(models)
        assert run.prepare() == []
        gateway = run.models
        gateway.allow("t", 0.0025)  # each answer costs 0.00101, and may cost a little more
        with gateway.open(trial="t", step="review", attempt=1) as access:
            assert [ask(access).status_code for _ in range(2)] == [200, 200]
        with (
            pytest.raises(GatewayError, match="the budget of the run is spent"),
            gateway.open(trial="t", step="revision", attempt=1) as access,
        ):
            assert ask(access).status_code == 400
        assert gateway.short == {"t"}
        assert len(provider.asked) == 2
        with gateway.open(trial="other", step="review", attempt=1) as access:
            assert ask(access).status_code == 200
        keeper.there = False
        run.send({"notice": "one"})
        keeper.there = True
        run.send({"notice": "two"})
        run.send({"notice": "three"})
    first, again = keeper.of("entries")
    assert first == again  # the first time it was not known to have been sent
    assert [(entry["trial"], entry["cost_usd"]) for entry in first.values()] == [
        ("t", pytest.approx(0.00101)),
        ("t", pytest.approx(0.00101)),
        ("other", pytest.approx(0.00101)),
    ]


def ask(access: ModelAccess) -> httpx2.Response:
    transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
    body = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
    with httpx2.Client(transport=transport, base_url="http://gateway", headers={"x-api-key": access.token}) as client:
        return client.post("/anthropic/v1/messages", json=body)
