"""The simulation of bench/coverage.py in small: its benchmarks have the paper's shape, and intervals cover."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.statistics.comparison import Measured, compare


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


@pytest.mark.parametrize("repositories", [2, 3, 5, 8, 35, 67])
def test_intervals_of_rates_cover_from_two_repositories_on(script: Any, repositories: int) -> None:
    """A short version of the table ``grid``: 150 runs that should be covered 142 times, and rarely below 133."""
    truth = script.Truth(0.2, 0.2)
    held = sum(script.rate_covered(seed, repositories, truth)[0] for seed in range(150))
    assert held >= 133


@pytest.mark.parametrize(("reviewers", "looks"), [(1, 1), (3, 3), (10, 1)])
def test_any_false_alarm_is_rare_for_any_number_of_reviewers_and_looks(script: Any, reviewers: int, looks: int) -> None:
    """A short version of the table ``alarms``."""
    assert sum(script.false_alarm(seed, reviewers, looks)[1] for seed in range(40)) <= 4


@pytest.mark.parametrize(("pulls", "noise"), [(17, 0.05), (17, 0.2), (50, 0.2)])
def test_the_rule_errs_rarely_and_gives_no_power_away(script: Any, pulls: int, noise: float) -> None:
    """A short version of the table ``methods``: 600 runs of an unchanged reviewer, and of one that lost half."""
    same = script.rulings(600, pulls, noise, 0.0, script.PLACES[0])
    fell = script.rulings(200, pulls, noise, 0.5, script.PLACES[0])
    assert max(same.worse["ours"], same.better["ours"]) < 0.025 + 2.6 * (0.025 * 0.975 / 600) ** 0.5
    assert same.no_worse["ours"] >= 0.95 * same.no_worse["CR2"] > 0.1
    assert fell.worse["ours"] >= fell.worse["flip"] >= fell.worse["earlier"] - 0.02


def test_what_the_table_calls_ours_is_what_the_package_does(script: Any) -> None:
    source, sizes = random.Random(3), script.shape(17)
    for loss in [0.0, 0.3, 0.6] * 20:
        sums = script.drawn_sums(source, sizes, 0.2, loss, script.PLACES[0])
        before, after = {}, {}
        for at, (size, own) in enumerate(zip(sizes, sums, strict=True)):
            for comment in range(size):
                changed = comment < abs(own)
                was = own < 0 if changed else True
                for run, caught in ((before, was), (after, was is not changed)):
                    run[f"i{at}", f"c{comment}"] = Measured(repo="r", caught=int(caught), missed=int(not caught))
        found = compare(before, after)
        (worse, better, no_worse) = script.rule_by_each(sizes, sums, script.student(sizes))["ours"]
        assert (found.drop_shown, found.gain_shown) == (worse, better)
        assert (found.low or 0) >= -script.MARGIN or not no_worse
