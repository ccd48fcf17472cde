from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics.clusters import difference_estimate
from pytest_crab.statistics.power import Design, oracles_needed, oracles_to_pass, power, smallest_drop, smallest_margin


def single(count: int, noise: float, **fields: float) -> Design:
    return Design(sizes=[1] * count, noise=noise, **{"rate": 0.5, **fields})


@pytest.mark.parametrize(("count", "discordance", "drop"), [(470, 0.15, 0.05), (180, 0.15, 0.08), (310, 0.1, 0.05)])
def test_textbook_sizes(count: int, discordance: float, drop: float) -> None:
    """(1.96 + 0.84)^2 * discordance / drop^2, for independent pairs and 80% power; the drop is part of discordance."""
    assert smallest_drop(single(count, discordance - drop)) == pytest.approx(drop, abs=0.006)
    assert oracles_needed(single(10, discordance - drop), drop) == pytest.approx(count, rel=0.12)


def test_twenty_oracles_see_a_collapse_only() -> None:
    assert (smallest_drop(single(20, 0.1)) or 0) > 0.3
    assert smallest_drop(single(20, 0.1, rate=0.2)) is None


@given(st.floats(0.01, 0.4), st.integers(20, 400))
def test_a_larger_drop_or_a_larger_run_is_seen_more_often(drop: float, count: int) -> None:
    design = single(count, 0.1)
    assert power(design, drop) <= power(design, drop + 0.05) + 1e-9
    assert power(design, drop) <= power(single(count + 50, 0.1), drop) + 1e-9


@pytest.mark.parametrize("change", [{"unknown": 0.05}, {"unknown_before": 0.05}, {"noise": 0.3}])
def test_unknowns_and_noise_cost_power(change: dict[str, float]) -> None:
    design = single(200, 0.1)
    assert power(dataclasses.replace(design, **change), 0.1) < power(design, 0.1)


def test_a_pair_that_is_unknown_in_both_runs_counts_as_a_gain() -> None:
    """Of a reviewer that caught everything and now catches nothing: drawn runs, with the best for all unknowns."""
    source = random.Random(5)

    def shown() -> bool:
        pairs = [(source.random() < 0.3, source.random() < 0.3) for _ in range(20)]
        values = [1.0 if new and before else 0.0 if new or before else -1.0 for new, before in pairs]
        return difference_estimate(values, range(20)).interval()[1] < 0

    drawn = sum(shown() for _ in range(1000)) / 1000
    found = power(single(20, 0.0, rate=1.0, unknown=0.3, unknown_before=0.3), 1.0)
    assert 0.2 < found < 0.8
    assert found == pytest.approx(drawn, abs=0.08)


def test_alike_clusters_cost_power() -> None:
    design = Design(sizes=[10] * 20, noise=0.1, rate=0.4)
    assert power(dataclasses.replace(design, correlation=0.3), 0.1) < power(design, 0.1)


def test_nothing_to_compare_sees_nothing() -> None:
    empty = Design(sizes=[], noise=0.1)
    assert power(empty, 0.3) == 0
    assert oracles_needed(empty, 0.3) is None
    assert (smallest_margin(empty), oracles_to_pass(empty, 0.3)) == (None, None)


def test_a_drop_comes_on_top_of_the_noise() -> None:
    assert power(single(100, 0.0), 0.1) > power(single(100, 0.1), 0.1) + 0.1


@given(st.integers(2, 300), st.integers(1, 6))
def test_equal_runs_pass_exactly_the_margins_that_their_interval_clears(clusters: int, size: int) -> None:
    labels = [at // size for at in range(clusters * size)]
    low, _ = difference_estimate([0.0] * len(labels), labels).interval()
    design = Design(sizes=[size] * clusters, noise=0.0)
    least = smallest_margin(design)
    assert least is not None
    assert min(1.0, least) == pytest.approx(-low)


def test_how_many_oracles_equal_runs_need() -> None:
    needed = oracles_to_pass(single(20, 0.0), 0.05)
    assert needed is not None
    for count, passes in ((needed, True), (needed - 2, False)):
        low, _ = difference_estimate([0.0] * count, range(count)).interval()
        assert (low >= -0.05) is passes
    assert (oracles_to_pass(single(20, 0.1), 0.05) or 0) > 4 * needed


@given(st.floats(0.02, 0.3), st.integers(20, 400))
def test_noise_and_unknowns_make_it_harder_to_pass(margin: float, count: int) -> None:
    design = single(count, 0.1)
    needed = oracles_to_pass(design, margin) or 0
    assert (oracles_to_pass(design, margin + 0.05) or 0) <= needed
    for change in ({"unknown": 0.05}, {"unknown_before": 0.05}, {"noise": 0.2}):
        worse = oracles_to_pass(dataclasses.replace(design, **change), margin)
        assert worse is None or worse > needed
