"""A provider that fails for good: how often one trial asks it, through every way that there is."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import NoReturn

import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.clients import installed
from pytest_crab.models import Gateway
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import ModelSettings
from pytest_crab.settings import Price
from pytest_crab.settings import Provider
from pytest_crab.testing.provider import Asked
from pytest_crab.testing.provider import Reply
from pytest_crab.testing.provider import ScriptedProvider
from pytest_crab.testing.provider import fail
from pytest_crab.testing.provider import say
from pytest_crab.trial import Crew
from pytest_crab.trial import CrewSpec
from pytest_crab.trial import run_trial
from pytest_crab.trial.retries import RETRIES
from pytest_crab.trial.retries import Patience
from pytest_crab.types import Trial

pytestmark = pytest.mark.bubblewrap

RETRIES_SET = 4
FINDING = [{"path": "value.py", "start": 2, "body": "The value should be three."}]
AT_ONCE = {name: Patience(most=patience.most, wait=0) for name, patience in RETRIES.items()}


class Place:
    """Trials of a lab with a scripted provider behind a real gateway."""

    def __init__(self, lab: Any, provider: ScriptedProvider, folder: Path) -> None:
        self.lab = lab
        self.provider = provider
        self.ledgers = folder / "ledgers"
        providers = {
            "anthropic": Provider(base_url=provider.anthropic_url, api="anthropic", key_env="ANTHROPIC_API_KEY"),  # type: ignore[arg-type]
            "openai": Provider(base_url=provider.openai_url, api="openai", key_env="OPENAI_API_KEY"),  # type: ignore[arg-type]
        }
        settings = ModelSettings(
            providers=providers,
            prices={"m": Price(input=3.0, output=15.0)},
            retries=RETRIES_SET,
            retry_wait=0.01,
            record=False,
        )
        self.gateway = Gateway(
            lambda: folder / "g", settings, cassettes=folder / "c", ledgers=self.ledgers, budget=None
        )

    def trial(self, reviewer: str, agent: str, **settings: Any) -> Trial:
        lab = self.lab
        own = {"model": "m", **settings}
        spec = CrewSpec(
            reviewer=reviewer,
            reviewer_spec=REVIEWERS.spec(reviewer, own, lab.folder),
            agent=agent,
            agent_spec=AGENTS.spec(agent, own if agent == "anthropic" else {}, lab.folder),
        )
        return run_trial(lab.instance(), Crew.build(spec), lab.world(models=self.gateway, retries=AT_ONCE))

    @property
    def booked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for file in self.ledgers.iterdir() for line in file.read_text().splitlines()]


@pytest.fixture
def place(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-2")
    with ScriptedProvider() as provider, tempfile.TemporaryDirectory() as folder:
        place = Place(lab, provider, Path(folder))
        yield place
        place.gateway.close()


@pytest.mark.parametrize("status", [500, 503, 429, 529])
def test_an_asking_reviewer_asks_as_often_as_retries_says(place: Place, status: int) -> None:
    place.provider.script = lambda _: fail(status)
    trial = place.trial("single-shot", "reference")
    assert len(place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"reviewer error"}
    assert [line["tries"] for line in place.booked] == [1 + RETRIES_SET]


def test_the_agent_asks_as_often_as_retries_says(place: Place) -> None:
    def script(asked: Asked) -> Reply:
        return fail(500) if asked.tools else say(json.dumps(FINDING))

    place.provider.script = script
    trial = place.trial("single-shot", "anthropic")
    assert sum(bool(asked.tools) for asked in place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"agent error"}
    assert trial.review is not None
    assert trial.review.usage is not None
    assert trial.review.usage.tries == 1
    assert {step.step: step.deadline for step in trial.steps if step.deadline is not None} == {"review": 600.0}


def test_a_provider_that_gives_no_answer_is_asked_as_often_as_retries_says(place: Place) -> None:
    place.provider.script = lambda _: Reply(cut=0, text="x")
    trial = place.trial("single-shot", "reference", options={"stream": "true"})
    assert len(place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"broken"}
    assert [(line["status"], line["tries"]) for line in place.booked] == [(502, 1 + RETRIES_SET)]


@pytest.mark.parametrize("name", ["claude-code", "codex", "pr-agent"])
def test_a_real_client_asks_no_more(place: Place, name: str, without: Callable[[str, str], NoReturn]) -> None:
    try:
        installed.find(name)
    except installed.ClientMissing as error:
        without(name, str(error))
    place.provider.script = lambda _: fail(500)
    trial = place.trial(name, "reference", timeout=120)
    assert set(place.lab.reasons(trial).values()) == {"reviewer error"}
    questions: dict[str, int] = {}
    for asked in place.provider.asked:
        key = json.dumps([asked.body.get(field) for field in ("model", "system", "messages", "input")])
        questions[key] = questions.get(key, 0) + 1
    assert questions
    assert max(questions.values()) <= 1 + RETRIES_SET
    assert len(questions) <= 1


def test_a_slow_answer_has_the_time_that_the_reviewer_has_and_no_more(place: Place) -> None:
    place.provider.script = lambda _: Reply(text="[]", delay=60)
    trial = place.trial("single-shot", "reference", timeout=2)
    assert trial.status == "timeout"
    assert len(place.provider.asked) == 1
    assert [(line["status"], line["tries"]) for line in place.booked] == [(0, 1)]
