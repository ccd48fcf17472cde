"""A budget kept by admission: what may be spent in all, whoever dies meanwhile."""

from __future__ import annotations

import dataclasses
import json
import math
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from pytest_crab.adapters import AdapterSpec
from pytest_crab.campaign.cluster.budget_ledger import BudgetLedger, reserve_of
from pytest_crab.scoring.judges.scorer import JudgeScorer
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.trial import Crew, CrewSpec


def entry(trial: str, cost: float, **more: Any) -> dict[str, Any]:
    return {"trial": trial, "complete": True, "cost_usd": cost, **more}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger" / "run.jsonl"


def crew_asking(model: str | None) -> Crew:
    """A crew whose agent asks a model of Anthropic's, and whose reviewer asks none."""
    adapter: Any = SimpleNamespace(model=model, providers=("anthropic",))
    spec = AdapterSpec(path="a:B", settings={})
    names = CrewSpec(reviewer="r", reviewer_spec=spec, agent="a", agent_spec=spec)
    return Crew(spec=names, reviewer=cast("Any", object()), agent=adapter)


def last(reading: float, writing: float) -> float:
    """US dollars of the longest request, at these dollars per million tokens."""
    return (200_000 * reading + 131_072 * writing) / 1_000_000


def lines(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def test_without_a_budget_all_begin_and_all_is_booked(ledger: Path) -> None:
    budget = BudgetLedger(ledger, None, None)
    assert budget.begin("a", "1", "t1") == budget.begin("b", "2", "t2") == {"allowance": None}
    budget.note_step("b", "2", "review")
    budget.book("0", "a", "worker one", entry("t1", 0.25))
    budget.book("1", "a", "worker one", entry("t1", 9.0, replayed=True))
    budget.end("a", "1", short=False)
    budget.lose("b", "worker two")
    budget.lose("a", "worker one")
    budget.close()
    booked, replayed, lost = lines(ledger)
    assert (booked["worker"], booked["cost_usd"], replayed["cost_usd"], budget.spent) == ("worker one", 0.25, 9.0, 0.25)
    assert (lost["worker"], lost["trial"], lost["lost"], "estimated_usd" in lost) == ("worker two", "t2", True, False)


@pytest.mark.parametrize("cost", [-1.0, math.nan, math.inf])
def test_what_is_no_amount_of_dollars_is_not_booked(ledger: Path, cost: float) -> None:
    budget = BudgetLedger(ledger, 2.5, 1.0)
    with pytest.raises(ValueError, match="cost_usd"):
        budget.book("0", "a", "a", entry("1", cost))
    assert (lines(ledger), budget.spent) == ([], 0.0)
    budget.book("0", "a", "a", entry("1", 0.5))
    assert budget.spent == 0.5


def test_trials_begin_while_what_all_may_spend_is_within_the_budget(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 2.5, 1.0)
    assert [budget.begin("a", key, key) for key in "123"] == [{"allowance": 1.0}, {"allowance": 1.0}, {}]
    budget.book("0", "a", "a", entry("1", 0.4))
    assert budget.begin("a", "3", "3") == {}  # 1.6 may still be spent, and 0.4 is
    budget.end("a", "1", short=False)
    assert budget.begin("a", "3", "3") == {"allowance": 1.0}
    budget.end("a", "2", short=False)
    budget.end("a", "3", short=False)
    assert budget.spent == 0.4


def test_a_trial_whose_answer_was_lost_asks_again(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 1.0, 1.0)
    assert budget.begin("a", "1", "1") == budget.begin("a", "1", "1") == {"allowance": 1.0}


def test_without_a_limit_for_each_trial_one_runs_at_a_time(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 2.0, None)
    assert budget.begin("a", "1", "1") == {"allowance": 2.0}
    assert budget.begin("b", "2", "2") == {}
    budget.book("0", "a", "a", entry("1", 0.5))
    budget.end("a", "1", short=False)
    assert budget.begin("b", "2", "2") == {"allowance": 1.5}


def test_once_what_is_left_is_too_little_the_others_begin_with_nothing(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 0.5, 1.0)
    assert budget.begin("a", "1", "1") == {"allowance": 0.5}
    assert budget.begin("b", "2", "2") == {}
    budget.end("a", "1", short=True)
    assert budget.begin("b", "2", "2") == {"allowance": 0.5}
    assert budget.begin("a", "3", "3") == {"allowance": 0.0}


def test_a_dead_worker_is_charged_with_what_its_trials_may_have_spent(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 5.0, 1.0)
    for key in "123":
        budget.begin("a", key, key)
        budget.note_step("a", key, "proof")
    budget.note_step("a", "1", "review (again after overloaded)")
    budget.note_step("a", "1", "image")
    budget.note_step("a", "2", "revision")
    budget.note_step("a", "2", "verdict")
    budget.book("0", "a", "worker one", entry("1", 0.25))
    budget.lose("a", "worker one")
    assert budget.spent == 1.0
    budget.close()
    _, lost = lines(ledger)
    assert (lost["trial"], lost["worker"], lost["estimated_usd"]) == ("1", "worker one", 0.75)


@pytest.mark.parametrize("step", ["review", "revision", "judgement"])
def test_every_step_that_asks_models_is_charged_after_one_that_does_not(ledger: Path, step: str) -> None:
    budget = BudgetLedger(ledger, 5.0, 1.0)
    budget.begin("a", "1", "1")
    for each in ("verdict", step):
        budget.note_step("a", "1", each)
    budget.lose("a", "worker one")
    assert budget.spent == 1.0


def test_what_a_dead_worker_still_tells_is_booked_and_counts_once(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 5.0, 1.0)
    budget.begin("a", "1", "1")
    budget.note_step("a", "1", "review")
    budget.lose("a", "worker one")
    budget.book("0", "a", "worker one", entry("1", 0.75))
    assert budget.spent == 1.0
    budget.book("1", "a", "worker one", entry("1", 0.5))
    assert budget.spent == 1.25
    budget.close()
    told = [(line.get("cost_usd"), line.get("estimated_usd")) for line in lines(ledger)]
    assert told == [(0.75, None), (0.5, None), (None, 0.0)]


@pytest.mark.parametrize("limit", [None, 5.0])
def test_a_trial_that_ends_on_a_worker_given_up_is_charged_with_what_it_spent(
    ledger: Path, limit: float | None
) -> None:
    budget = BudgetLedger(ledger, limit, 1.0)
    budget.begin("a", "1", "1")
    budget.note_step("a", "1", "review")
    budget.lose("a", "worker one")
    budget.book("0", "a", "worker one", entry("1", 0.75))
    budget.end("a", "1", short=False)
    budget.close()
    assert budget.spent == 0.75
    assert [line.get("cost_usd") for line in lines(ledger)] == [0.75]


def test_a_step_that_is_told_after_its_worker_was_lost_is_charged(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 5.0, 1.0)
    budget.begin("a", "1", "1")
    budget.note_step("a", "1", "proof")
    budget.lose("a", "worker one")
    assert budget.spent == 0.0
    budget.note_step("a", "1", "review")
    assert budget.spent == 1.0
    budget.close()
    assert [line["estimated_usd"] for line in lines(ledger)] == [1.0]


def test_what_is_told_twice_is_booked_once(ledger: Path) -> None:
    budget = BudgetLedger(ledger, 5.0, 1.0)
    for identity in ("0", "1", "0"):
        budget.book(identity, "a", "worker one", entry("1", 0.25))
    assert (budget.spent, len(lines(ledger))) == (0.5, 2)


def test_a_trial_may_exceed_its_own_budget_by_one_request() -> None:
    price = Price(input=3, output=15, cache_write=3.75)
    prices = {"a": price, "b": Price(input=1, output=5)}
    assert reserve_of(ModelSettings(prices=prices), []) is None
    assert reserve_of(ModelSettings(prices=prices, trial_budget=0.5), []) == pytest.approx(0.5 + last(3.75, 15))
    hour = {"a": dataclasses.replace(price, cache_write_1h=6)}
    assert reserve_of(ModelSettings(prices=hour, trial_budget=0.5), []) == pytest.approx(0.5 + last(6, 15))


def test_the_last_request_has_the_published_price_of_the_crews_models_or_their_own() -> None:
    crews = [crew_asking("claude-3-haiku-20240307")]
    assert reserve_of(ModelSettings(trial_budget=0.5), crews) == pytest.approx(0.5 + last(0.5, 1.25))
    dearer: Any = SimpleNamespace(model="claude-opus-4-1", providers=("anthropic",))
    judged = [dataclasses.replace(crew, scorers=(JudgeScorer("strict", dearer),)) for crew in crews]
    assert reserve_of(ModelSettings(trial_budget=0.5), judged) == pytest.approx(0.5 + last(30, 75))
    own = ModelSettings(trial_budget=0.5, prices={"claude-*": Price(input=0.1, output=0.2)})
    assert reserve_of(own, crews) == pytest.approx(0.5 + last(0.1, 0.2))


@pytest.mark.parametrize("model", [None, "no-such-model"])
def test_the_last_request_to_an_unknown_model_has_the_dearest_price_of_its_provider(model: str | None) -> None:
    reserve = reserve_of(ModelSettings(trial_budget=0.5), [crew_asking(model)])
    assert reserve is not None
    assert reserve >= 0.5 + last(30, 75) - 1e-9  # claude-opus-4-1
    everything = ModelSettings(trial_budget=0.5, prices={"*": Price(input=1, output=2)})
    assert reserve_of(everything, [crew_asking(model)]) == pytest.approx(0.5 + last(1, 2))
    local = Provider(base_url="http://127.0.0.1:8000", api=Api.ANTHROPIC)
    here = ModelSettings(trial_budget=0.5, providers={"anthropic": local})
    assert reserve_of(here, [crew_asking(model)]) == 0.5


actions = st.lists(
    st.tuples(st.sampled_from(["begin", "pay", "end", "lose", "tell"]), st.sampled_from("abc"), st.floats(0, 1)),
    max_size=60,
)


@given(steps=actions, limit=st.floats(0.1, 5), reserve=st.sampled_from([None, 0.3, 1.0]))
def test_a_budget_is_never_exceeded(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, str, float]],
    limit: float,
    reserve: float | None,
) -> None:
    """Gateways let requests through up to the allowance; a worker that is lost tells late what it spent, or never."""
    path = tmp_path_factory.getbasetemp() / f"{uuid.uuid4().hex}.jsonl"
    budget = BudgetLedger(path, limit, reserve)
    running: dict[str, tuple[str, float]] = {}
    lost: list[tuple[str, str, float]] = []
    really = 0.0
    for number, (action, worker, amount) in enumerate(steps):
        mine = [key for key, (owner, _) in running.items() if owner == worker]
        key = mine[0] if mine else ""
        if action == "begin":
            answer = budget.begin(worker, str(number), str(number))
            if answer:
                running[str(number)] = worker, answer["allowance"]
                budget.note_step(worker, str(number), "review")
        elif action == "pay" and mine:
            cost = running[key][1] * amount
            really += cost
            running[key] = worker, running[key][1] - cost
            budget.book(str(number), worker, worker, entry(key, cost))
        elif action == "end" and mine:
            budget.end(worker, key, short=amount > 0.5)
            del running[key]
        elif action == "lose":
            lost += [(worker, each, running.pop(each)[1] * amount) for each in mine]
            really += sum(cost for _, _, cost in lost[len(lost) - len(mine) :])
            budget.lose(worker, worker)
        elif action == "tell" and lost:
            owner, each, cost = lost.pop()
            budget.book(str(number), owner, owner, entry(each, cost))
            budget.end(owner, each, short=False)
        assert really <= limit + 1e-9
    for key, (owner, _) in running.items():
        budget.end(owner, key, short=False)
    assert budget.begin("a", "last", "last")  # whoever asks is admitted once all else has ended
    path.unlink(missing_ok=True)
