"""The forecast of a run, from what is stored, built and measured, and when a run is refused by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab.adapters import AdapterSpec
from pytest_crab.campaign import forecast as module
from pytest_crab.campaign.forecast import (
    Forecast,
    ReviewerNeed,
    disk_need,
    forecast,
    lack_of_disk,
    memory_for,
    read_times,
)
from pytest_crab.plugin.forecast import forecast_lines
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.environment_stock import BARE, BASE, READY, Stock, engine_stock
from pytest_crab.trial import CrewSpec
from pytest_crab.trial.plan import NEEDLESS, OPEN, RUNS, STORED, TrialPlan
from pytest_crab.types import Environment, Instance, TrialId

GB = 1024**3


@pytest.fixture
def instances(tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Any]) -> Any:
    """Four instances of two repositories; the last brings an image."""
    repos = {"a": "shop", "b": "shop", "c": "till", "d": "till"}
    made = {name: tree_instance(tmp_path, name, tree_comment("c0", "x.py"), repo=repo) for name, repo in repos.items()}
    made["d"] = replace(made["d"], environment=Environment(image="ready:1"))
    return made


def stock(free: int | None = GB, pulled: tuple[str, ...] = (), **there: int | None) -> Stock:
    return Stock(there=there, pulled=dict.fromkeys(pulled, BASE), free=free, place="here")


def test_what_is_missing_is_like_its_repository_else_like_all_else_typical(instances: dict[str, Instance]) -> None:
    found = disk_need(instances, stock(a=70), "docker", 1.0)
    assert (found.there, found.to_build, found.bytes) == (1, 3, 70 * 3)
    found = disk_need(instances, stock(a=70, c=10), "docker", 1.0)
    assert found.bytes == 70 + 10
    found = disk_need(instances, stock(a=None, b=None, pulled=("python:3.11-slim",)), "docker", 0.5)
    assert (found.there, found.pulled, found.bytes) == (2, ("python:3.11-slim",), BASE + BARE + READY)
    assert found.least == found.bytes * module.PLAIN / 2


@pytest.mark.parametrize(("language", "megabytes"), [("go", 180), ("java", 30), ("ruby", 40)])
def test_an_environment_of_a_language_takes_what_its_own_were_seen_to(
    instances: dict[str, Instance], language: str, megabytes: int
) -> None:
    one = replace(instances["a"], environment=Environment(ecosystem=language, version="1.26"))
    assert disk_need({"a": one}, stock(), "docker", 1.0).bytes == megabytes * 1024**2


@pytest.mark.docker
def test_a_base_of_a_language_that_is_not_here_takes_what_it_was_seen_to(instances: dict[str, Instance]) -> None:
    languages = {"a": ("go", 850), "b": ("rust", 1500), "c": ("php", 500)}
    wanted = [
        replace(instances[one], environment=Environment(ecosystem=name, version="0.1"))
        for one, (name, _) in languages.items()
    ]
    pulled = engine_stock(wanted, "").pulled
    assert sorted(pulled.values()) == sorted(megabytes * 1024**2 for _, megabytes in languages.values())


def test_a_disk_that_is_plainly_too_small_is_refused_in_one_sentence(instances: dict[str, Instance]) -> None:
    def lack(free: int | None, budget: int | None = None, share: float = 1.0) -> str | None:
        given = stock(free)
        return lack_of_disk(given, disk_need(instances, given, "docker", share), budget)

    assert lack(GB) is None
    assert lack(None) is None
    sentence = lack(1024**2)
    assert sentence is not None
    parts = ("4 environments", "405 MB", "only 1.0 MB are free", "--crab-shard", "--crab-disk-budget")
    assert [part for part in parts if part not in sentence] == []
    assert lack(1024**2, budget=1024**2) is None
    assert lack(1024**2, share=0.0) is None
    assert "--crab-disk-budget" not in str(lack(1024**2, budget=GB))


def record(instance: str, reviewer: str, **seconds: float) -> str:
    steps = [{"step": step, "reused": False, "seconds": took, "retried": []} for step, took in seconds.items()]
    return json.dumps({"runtime": "docker", "instance": instance, "reviewer": reviewer, "agent": "x", "steps": steps})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, instances: dict[str, Instance], tmp_path: Path) -> Callable[..., Any]:
    """Makes the whole forecast of trials of one reviewer by (instance, repeat), whose plans are given."""

    def make(
        plans: dict[tuple[str, int], TrialPlan], jobs: int = 2, reviews: int | None = None, *, free: bool = False
    ) -> Forecast:
        monkeypatch.setattr(module, "plan_trial", lambda one, crew, run_context, repeat: plans[one.id, repeat])
        nothing = AdapterSpec(path="none:None", settings={}, folder="")
        spec = CrewSpec(reviewer="r", reviewer_spec=nothing, agent="x", agent_spec=nothing, reviews=reviews)
        crew: Any = SimpleNamespace(spec=spec, free=free)
        trials = [(instances[name], crew, repeat) for name, repeat in plans]
        there = stock(b=None, c=None, d=None)
        records = tmp_path / "trials.jsonl"
        run_context: Any = SimpleNamespace(settings=RuntimeSettings())
        return forecast(trials, run_context, stock=there, records=records, runtime="docker", jobs=jobs, whole=True)

    return make


STEPS = dict.fromkeys(("proof", "review", "revision", "verdict"), STORED)
REVIEW_RUNS = TrialPlan(steps={**STEPS, "review": RUNS, "revision": NEEDLESS, "verdict": NEEDLESS}, costs={})


def test_a_forecast_counts_steps_and_tells_costs_by_stored_ones(told: Callable[..., Forecast]) -> None:
    stored = TrialPlan(steps=STEPS, costs={"review": 0.5, "revision": 2.0})
    unknown = TrialPlan(steps={**STEPS, "review": RUNS, "revision": OPEN, "verdict": OPEN}, costs={})
    found = told({("a", 1): stored, ("a", 2): unknown, ("b", 1): REVIEW_RUNS})
    assert (found.trials, found.instances, found.exact) == (3, 2, True)
    assert (found.reviews, found.revisions, found.stored) == (2, 1, 3)
    assert found.reviewers["r"] == ReviewerNeed(
        steps={"proof": 0, "review": 2}, usd=2 * 0.5, open=("revision", "verdict")
    )
    assert list(found.plans) == [TrialId("a", "r"), TrialId("a", "r", 2), TrialId("b", "r")]
    assert told({("b", 1): REVIEW_RUNS}).reviewers["r"].usd is None


def test_a_step_without_a_priced_sample_makes_the_cost_unknown(told: Callable[..., Forecast]) -> None:
    revises = TrialPlan(steps={**STEPS, "revision": RUNS}, costs={"review": 0.5})
    need = told({("a", 1): revises}).reviewers["r"]
    assert (need.steps["revision"], need.usd, need.unpriced) == (1, None, True)
    stored = TrialPlan(steps=STEPS, costs={"review": 0.5})
    need = told({("a", 1): stored}).reviewers["r"]
    assert (need.usd, need.unpriced) == (0.0, False)
    need = told({("a", 1): TrialPlan(steps=STEPS, costs={})}).reviewers["r"]
    assert (need.usd, need.unpriced) == (None, False)


def test_a_reviewer_whose_trials_ask_no_model_costs_nothing(told: Callable[..., Forecast]) -> None:
    need = told({("b", 1): REVIEW_RUNS}, free=True).reviewers["r"]
    assert (need.usd, need.unpriced, need.free) == (0.0, False, True)


def test_a_total_that_lacks_a_reviewers_cost_is_a_least(told: Callable[..., Forecast]) -> None:
    found = told({("a", 1): REVIEW_RUNS})
    need = {"proof": 0, "review": 1, "revision": 0, "verdict": 0}
    priced, unpriced = ReviewerNeed(steps=need, usd=2.0), ReviewerNeed(steps=need, usd=None)
    stored = ReviewerNeed(steps=dict.fromkeys(need, 0), usd=None)

    def line(**reviewers: ReviewerNeed) -> str:
        return next(forecast_lines(replace(found, reviewers=reviewers), "images", None))

    assert "about 2.00 USD" in line(alpha=priced, gamma=stored)
    assert "at least 2.00 USD" in line(alpha=replace(priced, open=("revision",)), gamma=stored)
    text = line(alpha=priced, beta=unpriced, gamma=stored)
    assert "at least 2.00 USD" in text
    assert "beta" in text
    assert "gamma" not in text
    assert "USD" not in line(beta=unpriced)


def test_time_is_told_only_from_what_was_measured(told: Callable[..., Forecast], tmp_path: Path) -> None:
    records = tmp_path / "trials.jsonl"
    lines = [record("a", "r", image=4, proof=10, review=20), record("b", "r", proof=30, review=40, revision=6)]
    odd = ['{"half": ', "[]", '{"runtime": "docker", "steps": [{}]}', '{"runtime": "docker", "steps": [1]}']
    records.write_text("\n".join([*lines, *odd]))
    known = read_times(records, "docker")
    assert (known.mean("proof"), known.mean("review", "r"), known.mean("verdict")) == (20, 30, None)
    plans = {("a", 1): REVIEW_RUNS, ("b", 1): REVIEW_RUNS, ("c", 1): TrialPlan(steps=STEPS, costs={})}
    assert told(plans).seconds == (1 * 4 + 1 * 20 + 2 * 30) / 2  # an image is missing, and the proof of c
    revises = TrialPlan(steps={**STEPS, "revision": RUNS}, costs={})
    assert told({**plans, ("c", 1): revises}).seconds is None
    assert told({("c", 1): TrialPlan(steps=STEPS, costs={})}).seconds is None
    assert read_times(records, "local").seconds == {}
    assert read_times(tmp_path / "none.jsonl", "docker").seconds == {}


def test_memory_is_spoken_of_where_it_is_short() -> None:
    assert memory_for(1, 4) is None
    assert memory_for(2**40, 4) == 1


def test_a_review_that_trials_share_is_made_once(told: Callable[..., Forecast]) -> None:
    plans = {("a", 1): REVIEW_RUNS, ("a", 2): REVIEW_RUNS, ("b", 1): REVIEW_RUNS, ("b", 2): REVIEW_RUNS}
    assert told(plans).reviews == 4
    assert told(plans, reviews=1).reviews == 2
