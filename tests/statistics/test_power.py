from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.statistics.power import Design
from pytest_crab.statistics.power import oracles_needed
from pytest_crab.statistics.power import power
from pytest_crab.statistics.power import smallest_drop


def single(count: int, discordance: float, **fields: float) -> Design:
    return Design(sizes=[1] * count, discordance=discordance, **{"rate": 0.5, **fields})


@pytest.mark.parametrize(("count", "discordance", "drop"), [(470, 0.15, 0.05), (180, 0.15, 0.08), (310, 0.1, 0.05)])
def test_textbook_sizes(count: int, discordance: float, drop: float) -> None:
    """(1.96 + 0.84)^2 * discordance / drop^2, for independent pairs and 80% power."""
    assert smallest_drop(single(count, discordance)) == pytest.approx(drop, abs=0.003)
    assert oracles_needed(single(10, discordance), drop) == pytest.approx(count, rel=0.07)


def test_twenty_oracles_see_a_collapse_only() -> None:
    assert (smallest_drop(single(20, 0.1)) or 0) > 0.3
    assert smallest_drop(single(20, 0.1, rate=0.2)) is None


@given(st.floats(0.01, 0.4), st.integers(20, 400))
def test_a_larger_drop_or_a_larger_run_is_seen_more_often(drop: float, count: int) -> None:
    design = single(count, 0.1)
    assert power(design, drop) <= power(design, drop + 0.05) + 1e-9
    assert power(design, drop) <= power(single(count + 50, 0.1), drop) + 1e-9


@pytest.mark.parametrize("change", [{"unknown": 0.05}, {"unknown_before": 0.05}, {"discordance": 0.3}])
def test_unknowns_and_noise_cost_power(change: dict[str, float]) -> None:
    design = single(200, 0.1)
    assert power(dataclasses.replace(design, **change), 0.1) < power(design, 0.1)


def test_alike_clusters_cost_power() -> None:
    design = Design(sizes=[10] * 20, discordance=0.1, rate=0.4)
    assert power(dataclasses.replace(design, correlation=0.3), 0.1) < power(design, 0.1)


def test_nothing_to_compare_sees_nothing() -> None:
    empty = Design(sizes=[], discordance=0.1)
    assert power(empty, 0.3) == 0
    assert oracles_needed(empty, 0.3) is None
