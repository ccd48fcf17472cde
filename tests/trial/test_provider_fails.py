"""A provider that fails for good: how often one trial asks it, through every way that there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from pytest_crab.clients import installed
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, fail, say

pytestmark = pytest.mark.bubblewrap

#: As often as the place's gateway tries again.
RETRIES_SET = 4
FINDING = [{"path": "value.py", "start": 2, "body": "The value should be three."}]


@pytest.mark.parametrize("status", [500, 429])
def test_an_asking_reviewer_asks_as_often_as_retries_says(place: Any, status: int) -> None:
    place.provider.script = lambda _: fail(status)
    trial = place.trial("single-shot", "simulated")
    assert len(place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"reviewer error"}
    assert [line["tries"] for line in place.booked] == [1 + RETRIES_SET]


def test_the_agent_asks_as_often_as_retries_says(place: Any) -> None:
    def script(asked: Asked) -> Reply:
        return fail(500) if asked.tools else say(json.dumps(FINDING))

    place.provider.script = script
    trial = place.trial("single-shot", "tool-loop")
    assert sum(bool(asked.tools) for asked in place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"agent error"}
    assert trial.review is not None
    assert trial.review.usage is not None
    assert trial.review.usage.tries == 1
    assert {step.step: step.deadline for step in trial.steps if step.deadline is not None} == {"review": 600.0}


def test_a_provider_that_gives_no_answer_is_asked_as_often_as_retries_says(place: Any) -> None:
    place.provider.script = lambda _: Reply(cut=0, text="x")
    trial = place.trial("single-shot", "simulated", options={"stream": "true"})
    assert len(place.provider.asked) == 1 + RETRIES_SET
    assert set(place.lab.reasons(trial).values()) == {"broken"}
    assert [(line["status"], line["tries"]) for line in place.booked] == [(502, 1 + RETRIES_SET)]


@pytest.mark.slow(reason="a real client starts, and installs itself in its home")
@pytest.mark.parametrize("name", ["claude-code", "codex", "pr-agent"])
def test_a_real_client_asks_no_more(place: Any, name: str, without: Callable[[str, str], NoReturn]) -> None:
    try:
        installed.find(name)
    except installed.ClientMissing as error:
        without(name, str(error))
    place.provider.script = lambda _: fail(500)
    trial = place.trial(name, "simulated", timeout=120)
    assert set(place.lab.reasons(trial).values()) == {"reviewer error"}
    questions: dict[str, int] = {}
    for asked in place.provider.asked:
        key = json.dumps([asked.body.get(field) for field in ("model", "system", "messages", "input")])
        questions[key] = questions.get(key, 0) + 1
    assert questions
    assert max(questions.values()) <= 1 + RETRIES_SET
    assert len(questions) <= 1


def test_a_slow_answer_has_the_time_that_the_reviewer_has_and_no_more(place: Any) -> None:
    place.provider.script = lambda _: Reply(text="[]", delay=60)
    trial = place.trial("single-shot", "simulated", timeout=2)
    assert trial.status == "timeout"
    assert len(place.provider.asked) == 1
    assert [(line["status"], line["tries"]) for line in place.booked] == [(0, 1)]
