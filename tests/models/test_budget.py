"""Budgets and the ledger."""

# ruff: noqa: SIM117 - the outer block says what is expected of the inner one

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_crab.errors import BudgetSpent, GatewayError, ReviewerError
from pytest_crab.models.ledger import Account, Ledger
from pytest_crab.testing.provider import garbage, say

STEP = {"trial": "i::r", "step": "review", "attempt": 1}

#: What one answer of the script costs: 100 tokens at 1 dollar and 20 at 10 dollars a million.
COST = 0.0003


def test_the_budget_of_the_run_is_exceeded_by_one_request_at_most(make: Any, client: Any, messages: Any) -> None:
    """And that is nobody's doing, also where a trial has spent its own at the same time."""
    protocol = messages
    gateway = make(budget=2.5 * COST, trial_budget=2.5 * COST)
    statuses = []
    with pytest.raises(GatewayError, match=r"the budget of the run is spent \(0.0009 of 0.00075 USD\): raise"):  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http:
            for number in range(5):
                answer = http.post(protocol.path, json=protocol.body(f"question {number}"))
                statuses.append(answer.status_code)
    assert statuses == [200, 200, 200, 400, 400]
    assert "the budget of the run is spent" in answer.json()["error"]["message"]
    assert len(make.provider.asked) == 3
    with pytest.raises(GatewayError, match="the budget of the run is spent"):
        with gateway.open(trial="other", step="review", attempt=1) as access, client(access) as http:
            http.post(protocol.path, json=protocol.body())


@pytest.mark.parametrize("room", [0, 40])
def test_a_ledger_that_cannot_be_written_breaks_the_step(make: Any, client: Any, messages: Any, room: int) -> None:
    gateway = make(budget=1.5 * COST, record=False)
    with pytest.raises(GatewayError, match=r"could not be written to \S+\.jsonl \(.+\): make room and run again"):  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http:
            resource.prlimit(gateway.process_id, resource.RLIMIT_FSIZE, (room, room))
            statuses = [http.post(messages.path, json=messages.body(str(at))).status_code for at in range(3)]
    assert statuses == [200, 200, 400]  # the budget is kept all the same


def test_half_a_line_in_a_ledger_hides_no_other(make: Any, client: Any, messages: Any) -> None:
    """As a gateway leaves it that is killed, or whose disk was full for a moment."""
    gateway = make("run", record=False)
    with contextlib.suppress(GatewayError), gateway.open(**STEP) as access, client(access) as http:
        for room in (40, 1 << 20):
            resource.prlimit(gateway.process_id, resource.RLIMIT_FSIZE, (room, 1 << 20))
            http.post(messages.path, json=messages.body(str(room)))
    gateway.close()
    (ledger,) = make.ledgers.iterdir()
    ledger.write_bytes(ledger.read_bytes()[:-30])
    with make("run", record=False).open(trial="other", step="review", attempt=1) as access, client(access) as http:
        http.post(messages.path, json=messages.body())
    lines = ledger.read_text().splitlines()
    assert [line.startswith("{") for line in lines] == [True] * 3
    assert json.loads(lines[2])["trial"] == "other"


def test_requests_beside_each_other_exceed_it_by_one_per_trial(make: Any, client: Any, messages: Any) -> None:
    make.provider.script = lambda _: say("x", delay=0.02)
    gateway = make(budget=COST / 2)

    def worker(trial: str) -> None:
        def one(number: int) -> None:
            with client(access) as http:
                http.post(messages.path, json=messages.body(str(number)))

        with pytest.raises(GatewayError, match="budget"):  # noqa: PT012
            with gateway.open(trial=trial, step="review", attempt=1) as access:
                threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

    workers = [threading.Thread(target=worker, args=(f"trial{number}",)) for number in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert 1 <= len(make.provider.asked) <= 2


def test_requests_that_the_budget_allows_at_their_dearest_are_made_beside_each_other(
    make: Any, client: Any, messages: Any
) -> None:
    """At most, each costs a little more than 0.001: 100 tokens of answer at 10 dollars a million, and what it reads."""
    every = threading.Event()
    make.provider.script = lambda _: say("x", delay=0 if every.is_set() else 3)
    gateway = make(budget=5 * 0.002)
    with gateway.open(**STEP) as access:

        def one(number: int) -> None:
            with client(access) as http:
                assert http.post(messages.path, json=messages.body(str(number))).status_code == 200

        threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        while len(make.provider.asked) < 4 and any(thread.is_alive() for thread in threads):
            every.wait(0.01)
        assert all(thread.is_alive() for thread in threads)  # all four are asked before any is answered
        for thread in threads:
            thread.join()
    assert gateway.usage(access).cost_usd == pytest.approx(4 * COST)


def test_several_answers_to_one_request_exceed_no_budget(make: Any, client: Any, chat: Any) -> None:
    """One answer may be the last of a budget; a hundred at once are refused while they may cost more than is left."""
    make.provider.script = lambda _: say("x", usage={"input": 100, "output": 128_000})
    gateway = make(budget=0.05)
    ask = {"max_tokens": 1000, "n": 128}
    with gateway.open(**STEP) as access, client(access) as http:
        answers = [http.post(chat.path, json=chat.body(str(number), **ask)) for number in range(4)]
    assert [answer.status_code for answer in answers] == [400] * 4
    assert "asks for 128 answers and may cost 1.28" in answers[0].json()["error"]["message"]
    assert not make.provider.asked
    enough = make(budget=2.0)
    with enough.open(**STEP) as access, client(access) as http:
        assert http.post(chat.path, json=chat.body(**ask)).status_code == 200


def test_reserved_requests_exceed_no_budget_whatever_they_come_to(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl", budget=1.0, trial_budget=None)
    one, other = ledger.open("a", "answers", 1), ledger.open("b", "answers", 1, allowance=0.25)
    assert ledger.reserve(one, 0.5)
    assert ledger.reserve(one, 0.25)
    assert not ledger.reserve(other, 0.3)  # more than its allowance
    assert ledger.reserve(other, 0.25)
    assert not ledger.reserve(one, 0.01)  # all may come to the whole budget
    ledger.release(one, 0.5)
    assert ledger.reserve(one, 0.5)
    own = Ledger(tmp_path / "own.jsonl", budget=1.0, trial_budget=0.5)
    assert not own.reserve(own.open("a", "answers", 1), 0.01)


async def _take_turn(ledger: Ledger, account: Account, log: list[str]) -> None:
    async with ledger.turn(account):
        log.append("alone")


def test_a_request_by_itself_waits_for_those_that_were_reserved_and_holds_up_new_ones(tmp_path: Path) -> None:
    async def story() -> list[str]:
        ledger = Ledger(tmp_path / "ledger.jsonl", budget=1.0, trial_budget=None)
        account, log = ledger.open("a", "answers", 1), []
        assert ledger.reserve(account, 0.6)
        waiting = asyncio.create_task(_take_turn(ledger, account, log))
        await asyncio.sleep(0)
        assert not ledger.reserve(account, 0.1)
        log.append("released")
        ledger.release(account, 0.6)
        await waiting
        assert ledger.reserve(account, 0.1)
        return log

    with ThreadPoolExecutor(1) as thread:  # a browser of other tests has a loop in this one
        assert thread.submit(lambda: asyncio.run(story())).result() == ["released", "alone"]


def test_a_trial_has_a_budget_of_its_own_over_its_steps(make: Any, client: Any, messages: Any) -> None:
    """Who spends it has itself to blame, and not the gateway; under a replay it is spent by the same request."""
    for replay in (False, True):
        gateway = make(trial_budget=1.5 * COST, replay=replay)
        with gateway.open(**STEP) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body()).status_code == 200
        with pytest.raises(BudgetSpent, match=r"of trial i::r is spent \(0.0006 of 0.00045 USD\)") as caught:  # noqa: PT012
            with gateway.open(trial="i::r", step="revision", attempt=1) as access, client(access) as http:
                assert http.post(messages.path, json=messages.body("2")).status_code == 200
                assert http.post(messages.path, json=messages.body("3")).status_code == 400
                raise ReviewerError("the client said something about status 400")
        assert caught.value.status == "limit"
        with gateway.open(trial="i::other", step="review", attempt=1) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body("4")).status_code == 200
    assert len(make.provider.asked) == 3


def test_what_an_attempt_spent_that_the_world_broke_off_is_nobodys_doing(make: Any, client: Any, messages: Any) -> None:
    gateway = make("run", trial_budget=1.5 * COST)
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body())
        http.post(messages.path, json=messages.body())
    with pytest.raises(GatewayError, match="the budget of trial i::r is spent"):
        with gateway.open(**{**STEP, "attempt": 2}) as access, client(access) as http:
            http.post(messages.path, json=messages.body())
    gateway.close()
    with pytest.raises(BudgetSpent):  # the ledger knows who spent what
        with make("run", trial_budget=1.5 * COST).open(**STEP) as access, client(access) as http:
            http.post(messages.path, json=messages.body())


def test_answers_that_the_provider_cut_are_nobodys_doing(make: Any, client: Any, messages: Any) -> None:
    """They may have cost the whole budget, and nobody knows it; one that the client left is the trial's own."""
    make.provider.script = lambda asked: say("x", stall=30) if "left" in str(asked.body) else say("x", cut=2)
    body = {"max_tokens": 100_000, "stream": True}
    for name in ("first", "anew"):  # the ledger knows it too
        gateway = make("run", trial_budget=0.9)
        with pytest.raises(GatewayError, match="the budget of trial i::r is spent"):  # noqa: PT012
            with gateway.open(**STEP) as access, client(access) as http:
                if name == "first":
                    with contextlib.suppress(httpx2.RemoteProtocolError):
                        http.post(messages.path, json=messages.body(**body))
                assert http.post(messages.path, json=messages.body()).status_code == 400
        gateway.close()
    with pytest.raises(BudgetSpent):  # noqa: PT012
        with make("run", trial_budget=0.9).open(**{**STEP, "trial": "left"}) as access, client(access) as http:
            with http.stream("POST", messages.path, json=messages.body("left", **body)) as answer:
                next(answer.iter_raw())
            assert http.post(messages.path, json=messages.body()).status_code == 400
    lines = [json.loads(line) for line in (make.ledgers / "run.jsonl").read_text().splitlines()]
    assert [line.get("cut") for line in lines] == [True, None]
    assert len(make.provider.asked) == 2


def test_a_budget_cannot_be_kept_without_a_price(make: Any, client: Any, messages: Any) -> None:
    with pytest.raises(GatewayError, match="unheard-of has no price, so that no budget can be kept: add it to"):
        with make(budget=1.0).open(**STEP) as access, client(access) as http:
            http.post(messages.path, json=messages.body(model="unheard-of"))
    assert not make.provider.asked


def test_one_request_without_a_price_does_not_break_a_step_that_ends_well(
    make: Any, client: Any, messages: Any
) -> None:
    gateway = make(budget=1.0)
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 200
        assert http.post(messages.path, json=messages.body(model="nope")).status_code == 400
    assert gateway.usage(access).requests == 1
    with pytest.raises(GatewayError, match="nope has no price"):  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body()).status_code == 200
            assert http.post(messages.path, json=messages.body(model="nope")).status_code == 400
            raise ReviewerError("it could not go on")


def test_answers_without_their_end_spend_the_budget(make: Any, client: Any, protocol: Any) -> None:
    make.provider.script = lambda _: say("never told to its end", stall=30)
    gateway = make("run", budget=COST)
    with pytest.raises(GatewayError, match="the budget of the run is spent"):  # noqa: PT012
        with gateway.open(**STEP) as access:
            for number in range(4):
                with client(access) as http:
                    body = protocol.body(str(number), stream=True)
                    with http.stream("POST", protocol.path, json=body) as answer:
                        next(answer.iter_raw(), None)
    assert len(make.provider.asked) == 1
    assert gateway.usage(access).cost_usd is None
    (line,) = map(json.loads, (make.ledgers / "run.jsonl").read_text().splitlines())
    limit = 100 if protocol.name == "messages" else 4096
    assert limit * 1e-5 < line["estimated_usd"] < limit * 1e-5 + 0.001
    os.kill(gateway.process_id, signal.SIGKILL)
    with pytest.raises(GatewayError, match="the budget of the run is spent"):
        with make("run", budget=COST).open(**STEP) as access, client(access) as http:
            http.post(protocol.path, json=protocol.body())


def test_an_answer_that_tells_no_usage_spends_what_it_may_have_cost(make: Any, client: Any, protocol: Any) -> None:
    """The run goes on, and the trial's own budget is spent by nobody's doing."""
    make.provider.script = lambda _: garbage()
    gateway = make("run", budget=1.0)

    def statuses(access: Any) -> list[int]:
        with client(access) as http:
            return [http.post(protocol.path, json=protocol.body(str(number))).status_code for number in (1, 2)]

    with gateway.open(**STEP) as access:
        assert statuses(access) == [200, 200]
    lines = [json.loads(line) for line in (make.ledgers / "run.jsonl").read_text().splitlines()]
    assert all(line["complete"] and line["estimated_usd"] > COST and "cost_usd" not in line for line in lines)
    assert gateway.usage(access).cost_usd is None
    with pytest.raises(GatewayError, match="the budget of trial i::r is spent"):
        with make(trial_budget=COST).open(**STEP) as access:
            assert statuses(access) == [200, 400]


def test_a_client_that_leaves_before_its_answer_spends_the_budget(
    make: Any, client: Any, messages: Any, leave: Any
) -> None:
    make.provider.script = lambda _: say("late", delay=30)
    with pytest.raises(GatewayError, match="the budget of the run is spent"):  # noqa: PT012
        with make(budget=COST).open(**STEP) as access, client(access) as http:
            leave(access, messages, make.provider)
            assert http.post(messages.path, json=messages.body()).status_code == 400
    assert len(make.provider.asked) == 1


def test_what_was_replayed_costs_no_budget(make: Any, client: Any, messages: Any) -> None:
    with make().open(**STEP) as access, client(access) as http:
        for number in range(3):
            http.post(messages.path, json=messages.body(str(number)))
    with make(budget=COST / 2, replay=True).open(**STEP) as access, client(access) as http:
        statuses = [http.post(messages.path, json=messages.body(str(number))).status_code for number in range(3)]
    assert statuses == [200, 200, 200]


def test_the_ledger_has_a_line_for_every_request(make: Any, client: Any, messages: Any) -> None:
    gateway = make("run")
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body())
        http.post(messages.path, json=messages.body(model="unheard-of", stream=True))
    lines = [json.loads(line) for line in (make.ledgers / "run.jsonl").read_text().splitlines()]
    shared = {"trial": "i::r", "step": "review", "attempt": 1, "provider": "anthropic", "path": "/messages"}
    assert all(shared.items() <= line.items() for line in lines)
    assert [line["model"] for line in lines] == ["scripted", "unheard-of"]
    assert lines[0]["cost_usd"] == pytest.approx(COST)
    assert "cost_usd" not in lines[1]
    assert [(line["status"], line["tries"], line["complete"], line["output_tokens"]) for line in lines] == [
        (200, 1, True, 20)
    ] * 2


def test_what_was_spent_outlives_the_gateway(make: Any, client: Any, messages: Any) -> None:
    gateway = make("run", budget=1.5 * COST)
    with pytest.raises(GatewayError, match="died or does not answer"):  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http:
            assert http.post(messages.path, json=messages.body("one")).status_code == 200
            assert http.post(messages.path, json=messages.body("two")).status_code == 200
            os.kill(gateway.process_id, signal.SIGKILL)
    with pytest.raises(GatewayError, match="the budget of the run is spent"):
        with gateway.open(**STEP) as access, client(access) as http:
            http.post(messages.path, json=messages.body("three"))
    assert len(make.provider.asked) == 2
