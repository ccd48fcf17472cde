"""The simulation of bench/coverage.py in small: its benchmarks have the paper's shape, and intervals cover."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power_simulation import simulate_power


@pytest.fixture(scope="module")
def script(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("coverage")


def test_a_simulated_benchmark_has_the_papers_counts(script: Any) -> None:
    oracles = dict(script.layout(random.Random(1)))
    assert (len(oracles), len({name for name, _ in oracles}), len(set(oracles.values()))) == (234, 184, 67)


def test_intervals_cover_where_plain_ones_do_not(script: Any) -> None:
    truth = script.Truth(script.RATE, 0.1)
    held = dict.fromkeys(("micro", "macro", "Wilson"), 0)
    for seed in range(150):
        source = random.Random(f"small {seed}")
        for name, holds in script.covers(script.measured(source, script.verdicts(source, truth)), script.RATE).items():
            held[name] += holds
    assert min(held["micro"], held["macro"]) >= 136
    assert held["Wilson"] < held["micro"]


@pytest.mark.parametrize(("unknown", "drop"), [(0.0, 0.08), (0.05, 0.16)])
def test_what_a_gate_announces_is_seen(script: Any, unknown: float, drop: float) -> None:
    """The gate's own announcement, from a baseline and nothing else."""
    runs = [script.compared(seed, script.Truth(script.RATE, 0.0), drop, unknown) for seed in range(80)]
    seen = sum(run.high is not None and run.high < 0 for run in runs) / len(runs)
    assert 0.5 < seen < 0.97
    assert seen == pytest.approx(script.announced(drop, 0.0, unknown, 25), abs=0.12)


def test_an_unchanged_reviewer_passes_as_often_as_is_announced(script: Any) -> None:
    lows = [script.compared(seed, script.Truth(script.RATE, 0.0), 0.0, 0.05).low for seed in range(80)]
    seen = sum(low >= -0.1 for low in lows) / len(lows)
    assert seen == pytest.approx(script.let_pass(0.1, 0.0, 0.05, 25), abs=0.12)


def test_the_smallest_drop_is_seen_in_four_of_five(script: Any) -> None:
    drop = simulate_power(Design(sizes=[1] * 60, noise=0.1, rate=0.5)).smallest_drop()
    runs = [script.independent(seed, 60, 0.1, drop) for seed in range(150)]
    assert sum(run.high < 0 for run in runs) / len(runs) == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize("repositories", [2, 3, 5, 8, 35, 67])
def test_intervals_of_rates_cover_from_two_repositories_on(script: Any, repositories: int) -> None:
    """A short version of the table ``grid``: 150 runs that should be covered 142 times, and rarely below 133."""
    truth = script.Truth(0.2, 0.2)
    held = sum(script.rate_covered(seed, repositories, truth)[0] for seed in range(150))
    assert held >= 133


def test_a_drawn_share_of_stable_instances_shows_the_same_drop(script: Any) -> None:
    """A short version of the table ``screen``; the error of one drawn run is about 4 points."""
    errors = [script.screened(seed, 0.5, 0.1)[1] for seed in range(60)]
    assert sum(errors) / len(errors) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_a_run_that_may_end_early_errs_as_rarely(script: Any, drop: float) -> None:
    """A short version of the table ``stop``: of 80 runs 2.5% may pass with a drop of the margin, or fail without."""
    wrong = "passed" if drop else "failed"
    assert sum(script.stopped(seed, 5, 0.1, drop)[0] == wrong for seed in range(80)) <= 6


@pytest.mark.parametrize(("reviewers", "looks"), [(1, 1), (3, 3), (10, 1)])
def test_any_false_alarm_is_rare_for_any_number_of_reviewers_and_looks(script: Any, reviewers: int, looks: int) -> None:
    """A short version of the table ``alarms``."""
    assert sum(script.false_alarm(seed, reviewers, looks)[1] for seed in range(40)) <= 4


@pytest.mark.parametrize(("rate", "correlation"), [(0.95, 0.5), (0.5, 0.2)])
def test_an_unchanged_reviewer_seldom_fails_however_unlike_its_repositories_are(
    script: Any, rate: float, correlation: float
) -> None:
    source, truth = random.Random(7), script.Truth(rate, correlation)
    failed = sum(script._shows_drop(*script.unchanged(source, 35, truth)) for _ in range(300))
    assert failed / 300 < 0.05
