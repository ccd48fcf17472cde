from __future__ import annotations

import dataclasses
import math
import random

import pytest
from hypothesis import given, settings, strategies as st

from pytest_crab.statistics.clusters import difference_estimate, rate_interval
from pytest_crab.statistics.power import Design, oracles_needed, power, smallest_margin
from pytest_crab.statistics.power_simulation import PowerSimulation, _Shape, _Sums, _verdicts, simulate_power


def single(count: int, **fields: float) -> Design:
    return Design(sizes=[1] * count, **{"noise": 0.1, "rate": 0.5, **fields})


@given(st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=6), min_size=2, max_size=12))
def test_the_interval_is_the_gates(clusters: list[list[int]]) -> None:
    values = [value for own in clusters for value in own]
    labels = [at for at, own in enumerate(clusters) for _ in own]
    shape = _Shape.of([len(own) for own in clusters])
    sums = _Sums(shape)
    for label, value in zip(labels, values, strict=True):
        sums.move(label, 0, 1)
        sums.move(label, 1, value)
    estimate = difference_estimate([float(value) for value in values], labels)
    assert sums.interval(1.0) == pytest.approx((estimate.mean, estimate.error), abs=1e-9)


def test_the_same_seed_foresees_the_same() -> None:
    design = Design(sizes=[3, 2, 5, 1, 4, 2, 6], noise=0.2, unknown=0.1, unknown_before=0.2, correlation=0.3)
    assert (
        simulate_power(design, draws=50) == simulate_power(design, draws=50) != simulate_power(design, draws=50, seed=1)
    )


@pytest.mark.parametrize("change", [{"unknown": 0.05}, {"unknown_before": 0.05}, {"noise": 0.3}])
def test_unknowns_and_noise_cost_both_ways(change: dict[str, float]) -> None:
    design, worse = single(150), single(150, **change)
    ahead, later = simulate_power(design, draws=300), simulate_power(worse, draws=300)
    assert later.power(0.1) < ahead.power(0.1)
    assert later.chance_unchanged(0.08) < ahead.chance_unchanged(0.08)
    assert (later.smallest_drop() or 1) > (ahead.smallest_drop() or 1)


def test_clusters_that_are_alike_cost_power() -> None:
    design = Design(sizes=[10] * 20, noise=0.1, rate=0.4)
    alike = dataclasses.replace(design, correlation=0.3)
    assert simulate_power(alike, draws=300).power(0.1) < simulate_power(design, draws=300).power(0.1) - 0.03


@pytest.mark.parametrize("drop", [0.06, 0.1, 0.16])
def test_it_is_near_the_approximation_where_that_holds(drop: float) -> None:
    design = single(200)
    assert simulate_power(design, draws=500).power(drop) == pytest.approx(power(design, drop), abs=0.07)


def test_runs_without_any_noise_are_met_at_the_smallest_margin() -> None:
    design = single(60, noise=0.0)
    least = smallest_margin(design)
    assert least is not None
    ahead = simulate_power(design, draws=20)
    assert (ahead.chance_unchanged(least * 1.01), ahead.chance_unchanged(least * 0.99)) == (1.0, 0.0)


def test_what_no_drop_shows_is_said_and_nothing_foresees_nothing() -> None:
    small = simulate_power(single(20, rate=0.2), draws=200)
    assert small.smallest_drop() is None
    assert math.inf in small.drops
    empty = simulate_power(Design(sizes=[], noise=0.1))
    assert empty == PowerSimulation(drops=(), margins=())
    assert (empty.power(0.5), empty.smallest_drop(), empty.chance_unchanged(0.5)) == (0.0, None, 0.0)
    one = simulate_power(Design(sizes=[1], noise=0.1, rate=1.0, unknown=1.0, unknown_before=1.0), draws=5)
    assert one.smallest_drop() is None


def test_one_cluster_alone_shows_nothing() -> None:
    design = Design(sizes=[40], noise=0.1)
    assert simulate_power(design) == PowerSimulation(drops=(), margins=())
    assert (smallest_margin(design), oracles_needed(design, 0.3), power(design, 0.3)) == (None, None, 0.0)


def test_a_stricter_level_sees_less() -> None:
    usual, strict = single(150), single(150, level=0.99)
    assert simulate_power(strict, draws=300).power(0.1) < simulate_power(usual, draws=300).power(0.1)
    assert power(strict, 0.1) < power(usual, 0.1)
    assert (smallest_margin(strict) or 0) > (smallest_margin(usual) or 1)


@settings(max_examples=25)
@given(st.floats(0.1, 0.9), st.floats(-0.1, 1.0), st.integers(0, 2**31))
def test_verdicts_are_caught_at_the_rate_and_as_alike_as_asked(rate: float, correlation: float, seed: int) -> None:
    found = _verdicts([2] * 2000, rate, correlation, random.Random(seed).random)
    low, high = rate_interval([float(own) for own in found], [at // 2 for at in range(4000)], 0.99999)
    assert low <= rate <= high
    pairs = list(zip(found[::2], found[1::2], strict=True))
    same = sum(one == other for one, other in pairs) / len(pairs)
    expected = correlation + (1 - correlation) * (rate**2 + (1 - rate) ** 2)
    assert same == pytest.approx(expected, abs=0.06)


def test_the_smallest_drop_has_the_power_that_it_is_named_for() -> None:
    ahead = simulate_power(single(120), draws=400)
    smallest = ahead.smallest_drop()
    assert smallest is not None
    assert ahead.power(smallest) >= 0.8 > ahead.power(smallest - 1e-9)
