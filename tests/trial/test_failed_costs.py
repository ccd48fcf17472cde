"""What attempts cost that came to nothing: on the trial's record, in the summary, and no more than the ledger has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_crab.clients.model_http import connection, post
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import summarise
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, say
from pytest_crab.types import Finding, PullRequest, Review, Trial

pytestmark = pytest.mark.bubblewrap

FINDING = [{"path": "value.py", "start": 2, "body": "The value should be three."}]
#: Of one answer of the scripted provider, 100 tokens in and 20 out, at the prices of the place.
ANSWER = 100 * 3e-6 + 20 * 15e-6


def summed(trial: Trial) -> ReviewerSummary:
    (found,) = summarise([trial]).reviewers
    return found


def booked(place: Any) -> float:
    return sum(line.get("cost_usd", 0.0) for line in place.booked)


def test_a_review_that_cannot_be_read_has_cost_what_it_cost(place: Any) -> None:
    place.provider.script = lambda _: say("I see nothing wrong.")
    trial = place.trial("single-shot", "simulated")
    assert trial.review is None
    own = summed(trial)
    twice = 2 * ANSWER  # an answer that cannot be read is asked for once more
    assert own.cost_usd == own.failed_usd == pytest.approx(twice) == pytest.approx(booked(place))
    assert own.unpriced == 0


def test_an_agent_that_fails_adds_to_what_its_review_has_cost(place: Any) -> None:
    def script(asked: Asked) -> Reply:
        return Reply(text="cut", stop="length") if asked.tools else say(json.dumps(FINDING))

    place.provider.script = script
    own = summed(place.trial("single-shot", "tool-loop"))
    assert own.cost_usd == pytest.approx(2 * ANSWER) == pytest.approx(booked(place))
    assert own.failed_usd == pytest.approx(ANSWER)


@dataclass
class Flaky:
    """A reviewer that asks a model and then, the first times, says that it had too much to do."""

    failures: int

    def identity(self) -> dict[str, str]:
        return {"adapter": "flaky"}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Well?"}]}
        with checkout.services.models("anthropic") as access, connection(access) as client:
            post(client, "anthropic", "v1/messages", body, token=access.token, timeout=60)
            self.failures -= 1
            if self.failures >= 0:
                raise ReviewerError("too much to do", status="overloaded")
            return Review(findings=(Finding(body="Well."),), usage=checkout.services.usage(access))


def test_attempts_before_a_good_one_stay_on_the_record_also_where_it_is_reused(place: Any) -> None:
    trial = place.trial("single-shot", "simulated", instead=Flaky(2))
    assert trial.review is not None, trial.error
    assert trial.failed is None, trial.error
    own = summed(trial)
    assert own.cost_usd == pytest.approx(3 * ANSWER) == pytest.approx(booked(place))
    assert own.failed_usd == pytest.approx(2 * ANSWER)
    again = place.trial("single-shot", "simulated", instead=Flaky(0))
    assert summed(again).cost_usd == pytest.approx(3 * ANSWER)
    assert len(place.booked) == 3


def test_steps_that_ask_no_model_cost_nothing(place: Any) -> None:
    trial = place.trial("ruff", "simulated", model=None)
    own = summed(trial)
    assert (own.cost_usd, own.failed_usd, own.unpriced) == (0, None, 0)


def test_a_command_without_a_model_costs_nothing_and_one_with_a_key_is_unknown(lab: Any) -> None:
    assert (summed(lab.trial()).cost_usd, summed(lab.trial()).unpriced) == (0, 0)
    lab.settings["reviewer"] = {"pass_env": ["SOME_KEY"]}
    assert summed(lab.trial()).unpriced == 1
