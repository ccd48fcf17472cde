from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics.clusters import difference_estimate
from pytest_crab.statistics.power import (
    Design,
    clusters_needed,
    oracles_needed,
    oracles_to_pass,
    power,
    smallest_margin,
)


def single(count: int, noise: float, **fields: float) -> Design:
    return Design(sizes=[1] * count, noise=noise, **{"rate": 0.5, **fields})


@pytest.mark.parametrize(("count", "discordance", "drop"), [(470, 0.15, 0.05), (180, 0.15, 0.08), (310, 0.1, 0.05)])
def test_textbook_sizes(count: int, discordance: float, drop: float) -> None:
    """(1.96 + 0.84)^2 * discordance / drop^2, for independent pairs and 80% power; the drop is part of discordance."""
    assert oracles_needed(single(10, discordance - drop), drop) == pytest.approx(count, rel=0.15)
    assert power(single(count, discordance - drop), drop) == pytest.approx(0.8, abs=0.07)


@given(st.floats(0.01, 0.4), st.integers(20, 400))
def test_a_larger_drop_or_a_larger_run_is_seen_more_often(drop: float, count: int) -> None:
    design = single(count, 0.1)
    assert power(design, drop) <= power(design, drop + 0.05) + 1e-9
    assert power(design, drop) <= power(single(count + 50, 0.1), drop) + 1e-9


@pytest.mark.parametrize("change", [{"unknown": 0.05}, {"unknown_before": 0.05}, {"noise": 0.3}])
def test_unknowns_and_noise_cost_power(change: dict[str, float]) -> None:
    design = single(200, 0.1)
    assert power(dataclasses.replace(design, **change), 0.1) < power(design, 0.1)


def drawn_differences(
    design: Design, drop: float, unknown: float, source: random.Random
) -> tuple[list[float], list[int]]:
    """Differences of a run and its baseline, and their clusters; a difference with an unknown is ``unknown`` or so.

    A whole cluster of the baseline has one verdict with a chance of the correlation. Each caught oracle is lost with
    the same chance. ``unknown`` is 1 for the best that unknown verdicts may be for the new run, and -1 for the worst.
    """
    values, clusters = [], []
    for cluster, size in enumerate(design.sizes):
        shared = source.random() < design.correlation
        common = source.random() < design.rate
        for _ in range(size):
            before = common if shared else source.random() < design.rate
            after = before and source.random() >= drop / design.rate
            if source.random() < design.noise:
                after = not after
            after_known, before_known = source.random() >= design.unknown, source.random() >= design.unknown_before
            new = float(after) if after_known else float(unknown > 0)
            values.append(new - (float(before) if before_known else float(unknown < 0)))
            clusters.append(cluster)
    return values, clusters


@pytest.mark.parametrize(
    ("design", "drop"),
    [
        (single(20, 0.0, rate=1.0, unknown=0.3, unknown_before=0.3), 1.0),
        (single(300, 0.0, rate=0.6, unknown=0.2, unknown_before=0.1), 0.31),
        (single(200, 0.0, rate=0.9, unknown=0.1, unknown_before=0.2), 0.3),
        (single(200, 0.0, rate=0.5, unknown_before=0.2), 0.18),
        (Design(sizes=[6] * 20, noise=0.0, rate=0.5, correlation=0.6), 0.09),
        (Design(sizes=[20, 10, 5, 3, 2, 1] * 3, noise=0.0, rate=0.7, correlation=0.5), 0.13),
    ],
)
def test_power_is_that_of_drawn_runs(design: Design, drop: float) -> None:
    source = random.Random(5)
    shown = [difference_estimate(*drawn_differences(design, drop, 1, source)).interval()[1] < 0 for _ in range(1000)]
    found, seen = power(design, drop), sum(shown) / len(shown)
    assert 0.25 < found < 0.9
    assert -0.08 < seen - found < 0.3, "a few large clusters show more than the normal distribution tells"


@pytest.mark.parametrize(
    ("design", "margin", "drop"),
    [
        (single(20, 0.0, rate=0.6, unknown=0.05), 0.08, 0.0),
        (single(20, 0.0, rate=0.3, unknown_before=0.05), 0.08, 0.0),
        (single(20, 0.0, rate=0.5, unknown=0.2, unknown_before=0.2), 0.3, 0.0),
        (Design(sizes=[4, 2, 1] * 4, noise=0.0, rate=0.5, unknown=0.05), 0.08, 0.0),
        (Design(sizes=[6] * 10, noise=0.0, rate=0.5, correlation=0.9), 0.15, 0.1),
    ],
)
def test_as_many_oracles_pass_as_often_as_was_asked(design: Design, margin: float, drop: float) -> None:
    count = oracles_to_pass(design, margin, 0.7, shift=-drop)
    assert count is not None
    clusters = clusters_needed(design, count)
    larger = dataclasses.replace(design, sizes=[size for _ in range(clusters) for size in design.sizes][:clusters])
    source = random.Random(6)
    passed = [
        difference_estimate(*drawn_differences(larger, drop, -1, source)).interval()[0] >= -margin for _ in range(600)
    ]
    assert sum(passed) / len(passed) == pytest.approx(0.7, abs=0.15)


@pytest.mark.parametrize("drop", [0.3, 0.45, 0.6])
def test_the_fewest_oracles_that_are_enough(drop: float) -> None:
    design = single(10, 0.05, rate=0.9)
    count = oracles_needed(design, drop)
    assert count is not None
    assert power(single(count, 0.05, rate=0.9), drop) >= 0.8 > power(single(count - 1, 0.05, rate=0.9), drop)


def test_a_number_of_oracles_needs_several_clusters_and_lies_below_a_million() -> None:
    assert oracles_needed(Design(sizes=[3, 3], noise=0.1), 0.2) is not None
    assert oracles_needed(single(10, 0.1), 0.0005) is None
    assert oracles_needed(Design(sizes=[6], noise=0.1), 0.2) is None


def test_how_many_clusters_hold_so_many_oracles() -> None:
    assert clusters_needed(Design(sizes=[2, 4], noise=0.0), 12) == 4
    assert clusters_needed(Design(sizes=[2, 4], noise=0.0), 13) == 5


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
