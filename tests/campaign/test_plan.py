"""What a plan says, from a store that is written by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_crab.campaign import plan
from pytest_crab.campaign.plan import plan_lines
from pytest_crab.trial.plan import OPEN
from pytest_crab.trial.plan import RUNS
from pytest_crab.trial.plan import STORED
from pytest_crab.trial.plan import TrialPlan


def crew(name: str) -> SimpleNamespace:
    return SimpleNamespace(spec=SimpleNamespace(reviewer=name))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], TrialPlan]:
    """What is foreseen of each instance and repeat."""
    table: dict[tuple[str, int], TrialPlan] = {}
    monkeypatch.setattr(plan, "plan_trial", lambda instance, crew, world, repeat: table[instance.id, repeat])
    return table


def lines(*trials: tuple[str, str, int]) -> list[str]:
    return list(plan_lines(SimpleNamespace(), [(SimpleNamespace(id=i), crew(r), n) for i, r, n in trials]))  # type: ignore[misc,arg-type]


def test_costs_are_told_from_what_stored_steps_cost(seen: dict[tuple[str, int], TrialPlan]) -> None:
    steps = {"proof": STORED, "review": STORED, "revision": STORED, "verdict": STORED}
    seen["a", 1] = TrialPlan(steps=steps, costs={"review": 0.5, "revision": 2.0})
    seen["a", 2] = TrialPlan(steps={**steps, "review": RUNS, "revision": OPEN, "verdict": OPEN}, costs={})
    assert lines(("a", "r", 1), ("a", "r", 2)) == [
        "a::r  proof stored; review stored; revision stored; verdict stored",
        f"a::r[2]  proof stored; review would run; revision {OPEN}; verdict {OPEN}",
        "r: would run at least 0 proofs, 1 reviews, 0 revisions, 0 verdicts; about 0.50 USD by what stored ones cost",
    ]


def test_a_problem_is_said_in_place_of_steps(seen: dict[tuple[str, int], TrialPlan]) -> None:
    seen["a", 1] = TrialPlan(
        steps=dict.fromkeys(("proof", "review", "revision", "verdict"), OPEN), costs={}, problem="no disk"
    )
    first, second = lines(("a", "r", 1))
    assert first == "a::r  no disk"
    assert second.startswith("r: would run at least 0 proofs, 0 reviews")
    assert second.endswith("nothing priced is stored")
