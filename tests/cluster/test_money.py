"""Leases: what may be spent by how many, whoever dies meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.campaign.cluster.treasury import Treasury

WORKERS = ("a", "b", "c")


def asked(lease: str, most: float | None = 1.0, guess: float | None = 0.5) -> dict[str, Any]:
    known = {"trial": "t", "step": "review", "attempt": 1, "provider": "p", "path": "/m", "model": "m"}
    return {"ask": lease, "most": most, "guess": guess, **known}


def entry(cost: float | None) -> dict[str, Any]:
    return {"trial": "t", "complete": True, **({} if cost is None else {"cost_usd": cost})}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger" / "run.jsonl"


def lines(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def test_without_a_budget_all_is_granted_and_booked(ledger: Path) -> None:
    money = Treasury(ledger, None)
    money.know("a", "worker one")
    assert money.ask("a", asked("1", most=None, guess=None)) == [("a", {"grant": "1"})]
    assert money.settle("a", "1", entry(0.25)) == []
    assert money.settle("a", None, {**entry(9.0), "replayed": True}) == []
    assert [(line["worker"], line["cost_usd"]) for line in lines(ledger)] == [("worker one", 0.25), ("worker one", 9.0)]
    assert (money.spent, money.outstanding) == (0.25, 0)


def test_what_is_not_used_comes_back_to_who_waits(ledger: Path) -> None:
    money = Treasury(ledger, 1.0)
    assert money.ask("a", asked("1", most=1.0)) == [("a", {"grant": "1"})]
    assert money.ask("b", asked("2", most=0.4)) == []  # all is leased
    assert money.settle("a", "1", entry(0.1)) == [("b", {"grant": "2"})]
    assert money.ask("a", asked("3", most=5.0)) == [("a", {"grant": "3"})]  # more than is left, once for each worker
    assert money.ask("a", asked("4", most=5.0)) == []
    ((worker, answer),) = money.settle("a", "3", entry(2.0))
    assert (worker, answer["refuse"]) == ("a", "4")
    assert "the budget of the run is spent (2.1000 of 1 USD)" in answer["why"]
    money.settle("b", "2", None)
    assert len(lines(ledger)) == 2


def test_what_a_dead_worker_had_under_way_is_booked_once(ledger: Path) -> None:
    money = Treasury(ledger, 1.0)
    money.know("a", "worker one")
    money.ask("a", asked("1", most=1.0, guess=0.7))
    money.ask("a", asked("2"))
    assert money.ask("b", asked("3", most=0.3)) == []
    assert money.lose("a") == [("b", {"grant": "3"})]
    assert money.settle("a", "1", entry(0.1)) == []  # it was not dead after all, and comes too late
    ((line),) = lines(ledger)
    assert (line["worker"], line["lost"], line["complete"], line["estimated_usd"]) == ("worker one", True, False, 0.7)
    assert (money.spent, money.outstanding) == (0.7, 1)


actions = st.lists(st.tuples(st.sampled_from(["ask", "settle", "lose"]), st.sampled_from(WORKERS), st.floats(0, 1)))


@given(steps=actions, budget=st.floats(0.1, 5))
def test_a_budget_is_exceeded_by_one_request_per_worker_at_most(  # noqa: C901 - the world in a few lines
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, float]], budget: float
) -> None:
    """No request costs more than 1; each is asked for at what it can cost, and costs that, to be hard on the rule."""
    path = tmp_path_factory.getbasetemp() / "money.jsonl"
    money = Treasury(path, budget)
    under_way: dict[str, tuple[str, float]] = {}
    waiting: dict[str, tuple[str, float]] = {}

    def hear(answers: Any) -> None:
        for worker, answer in answers:
            name = answer.get("grant") or answer["refuse"]
            assert waiting[name][0] == worker
            found = waiting.pop(name)
            if "grant" in answer:
                under_way[name] = found

    def finish(name: str) -> None:
        worker, cost = under_way.pop(name)
        hear(money.settle(worker, name, entry(cost)))

    for number, (action, worker, cost) in enumerate(steps):
        mine = [name for name, (owner, _) in under_way.items() if owner == worker]
        if action == "ask":
            waiting[str(number)] = worker, cost
            hear(money.ask(worker, asked(str(number), most=cost, guess=cost)))
        elif action == "settle" and mine:
            finish(mine[0])
        elif action == "lose":
            for table in (under_way, waiting):
                for name in [name for name, (owner, _) in table.items() if owner == worker]:
                    del table[name]
            hear(money.lose(worker))
    while under_way:
        finish(next(iter(under_way)))
    assert not waiting  # whoever asks is answered once all else is settled
    assert money.spent <= budget + len(WORKERS) + 1e-9
    money.close()
    path.unlink(missing_ok=True)
