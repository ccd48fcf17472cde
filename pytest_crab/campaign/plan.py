"""What a run would do and cost, said before it does anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence

from pytest_crab.money import dollars
from pytest_crab.trial import Crew
from pytest_crab.trial import World
from pytest_crab.trial.plan import RUNS
from pytest_crab.trial.plan import plan_trial
from pytest_crab.types import Instance
from pytest_crab.types import TrialId


def plan_lines(world: World, trials: Sequence[tuple[Instance, Crew, int]]) -> Iterator[str]:
    """Yield a line for each trial, then the sums; costs of what would run are told from what stored steps once cost."""
    runs: Counter[tuple[str, str]] = Counter()
    costs: dict[tuple[str, str], list[float]] = {}
    for instance, crew, repeat in trials:
        seen = plan_trial(instance, crew, world, repeat=repeat)
        states = "; ".join(f"{step} {state}" for step, state in seen.steps.items())
        yield f"{TrialId(instance.id, crew.spec.reviewer, repeat)}  {seen.problem or states}"
        for step, state in seen.steps.items():
            runs[crew.spec.reviewer, step] += state.startswith(RUNS)
        for step, cost in seen.costs.items():
            costs.setdefault((crew.spec.reviewer, step), []).append(cost)
    for reviewer in dict.fromkeys(crew.spec.reviewer for _, crew, _ in trials):
        counts = ", ".join(f"{runs[reviewer, step]} {step}s" for step in ("proof", "review", "revision", "verdict"))
        known = [
            runs[reviewer, step] * sum(costs[reviewer, step]) / len(costs[reviewer, step])
            for step in ("review", "revision")
            if (reviewer, step) in costs
        ]
        price = (
            f"about {dollars(sum(known))} USD by what stored ones cost"
            if known
            else "cost not known: nothing priced is stored"
        )
        yield f"{reviewer}: would run at least {counts}; {price}"
