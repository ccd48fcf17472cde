"""Models for callers that review nothing: no checkout, no reviewer, a real gateway and a scripted provider."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.services import StepServices
from pytest_crab.errors import (
    AgentError,
    BudgetSpent,
    Cancelled,
    ContestantError,
    GatewayError,
    LimitSpent,
    MalformedAnswer,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReviewerError,
    model_errors_as,
)
from pytest_crab.models import Gateway
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.testing.provider import Reply, ScriptedProvider, fail, refuse, say
from pytest_crab.trial import Crew, CrewSpec
from pytest_crab.trial.context import TrialContext

KEY = "sk-planted-judge-55"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(ChatSettings):
    """A caller that is no contestant: it asks whether a finding is right."""

    role: ClassVar[str] = "review"

    def verdict(self, services: StepServices, finding: str) -> str:
        with self.chat(services) as chat:
            answer = chat.ask([{"role": "user", "content": f"Is this right? {finding}"}])
            chat.keep()
            return answer


class Bench:
    """A gateway before a scripted provider, and the transcripts that were kept."""

    def __init__(self, provider: ScriptedProvider, folder: Path, **settings: Any) -> None:
        known = Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY")
        models = ModelSettings(
            providers={"anthropic": known},
            prices={"m": Price(input=1.0, output=10.0)},
            retries=0,
            **settings,
        )
        self.provider = provider
        self.gateway = Gateway(lambda: folder / "g", models, cassettes=folder / "c", ledgers=folder / "l")
        self.kept: list[dict[str, str]] = []
        self.cancelled = threading.Event()

    def services(self, step: str = "judge") -> StepServices:
        return StepServices(
            self.gateway,
            lambda _step, _key, value: self.kept.append(value),
            trial="i::r[1]",
            step=step,
            secrets=("ANTHROPIC_API_KEY",),
            cancelled=self.cancelled,
        )


@pytest.fixture
def make_bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    made: list[Bench] = []
    with ScriptedProvider() as provider, tempfile.TemporaryDirectory() as folder:  # tmp_path is too long for sockets

        def make(reply: Reply, **settings: Any) -> Bench:
            provider.script = lambda _: reply
            made.append(Bench(provider, Path(folder), **settings))
            return made[-1]

        yield make
        for bench in made:
            bench.gateway.close()


def test_a_judge_asks_a_model_without_a_checkout(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(say("Yes."))
    services = bench.services()
    assert Judge(model="m").verdict(services, f"off by one, says {KEY}") == "Yes."
    used = services.total_used()
    assert used is not None
    assert (used.requests, used.cost_usd) == (1, pytest.approx(100e-6 + 200e-6))
    (kept,) = bench.kept
    assert (kept["step"], "off by one" in kept["text"]) == ("judge", True)
    assert KEY not in kept["text"]
    assert "[ANTHROPIC_API_KEY]" in kept["text"]


ERRORS = [
    (fail(529), ModelUnavailable, "overloaded"),
    (fail(401), ModelUnavailable, "auth"),
    (fail(429), ModelUnavailable, "rate_limited"),
    (refuse(), ModelRefused, "refused"),
    (Reply(raw=b"<html>"), MalformedAnswer, "bad_output"),
    (Reply(text="So", stop="length"), MalformedAnswer, "limit"),
]


@pytest.mark.parametrize(("reply", "kind", "status"), ERRORS, ids=[status for *_, status in ERRORS])
def test_its_errors_are_no_contestants(
    make_bench: Callable[..., Bench], reply: Reply, kind: type[ModelError], status: str
) -> None:
    bench = make_bench(reply)
    with pytest.raises(kind) as caught:
        Judge(model="m").verdict(bench.services(), "off by one")
    assert (caught.value.status, isinstance(caught.value, ContestantError)) == (status, False)
    assert caught.value.final == (status in ("overloaded", "rate_limited"))


def test_a_spent_budget_is_neutral_too(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(say("Yes."), trial_budget=0.0001)
    assert Judge(model="m").verdict(bench.services(), "first") == "Yes."
    with pytest.raises(BudgetSpent):
        Judge(model="m").verdict(bench.services("another"), "second")


@pytest.mark.parametrize("failure", [ReviewerError, AgentError])
def test_a_contestants_step_maps_them(failure: type[ContestantError]) -> None:
    error = ModelUnavailable("no answer", "timeout")
    error.final = True
    with pytest.raises(failure, match="no answer") as caught, model_errors_as(failure):
        raise error
    assert (caught.value.status, caught.value.final) == ("timeout", True)
    with pytest.raises(LimitSpent), model_errors_as(failure):
        raise BudgetSpent("all of it")


@pytest.mark.bubblewrap
def test_a_curator_asks_for_a_trial_that_it_makes(desk: Any) -> None:
    desk.say(say("It divides by zero."))
    spec = CrewSpec(
        reviewer="none",
        reviewer_spec=REVIEWERS.spec("none", {}, Path()),
        agent="suggestions",
        agent_spec=AGENTS.spec("suggestions", {}, Path()),
    )
    context = TrialContext(desk.instance, Crew.build(spec), desk.run_context, lambda _step: None)
    services = context.services()
    assert Judge(model="scripted-model", provider="openai").verdict(services, "no guard") == "It divides by zero."
    assert services.total_used().requests == 1
    assert len(context.transcripts) == 1


def test_without_a_gateway_nothing_can_be_asked() -> None:
    services = StepServices(None, lambda *_: None, trial="t", step="s")
    with pytest.raises(GatewayError, match="no gateway"):
        Judge(model="m").verdict(services, "?")
    assert services.total_used() is None


def test_a_stopped_run_waits_no_longer(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(say("Yes."))
    bench.services().wait(0.0)
    bench.cancelled.set()
    with pytest.raises(Cancelled, match="judge"):
        bench.services().wait(60.0)
