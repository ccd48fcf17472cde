from __future__ import annotations

import math

import pytest
import scipy
from hypothesis import given, strategies as st

from pytest_crab.statistics.rank_agreement import agreement_apart, kendall_tau, rank_agreement


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_tau_is_scipys(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    expected = scipy.stats.kendalltau(one, other).statistic
    found = kendall_tau(one, other)
    with pytest.raises(ValueError, match="zip"):
        kendall_tau(one, other[:-1])
    assert found is None if math.isnan(expected) else found == pytest.approx(expected)


def test_an_interval_is_wider_where_clusters_disagree() -> None:
    alike = [[(0, 1.0, 1.0), (1, 0.5, 0.5), (2, 0.0, 0.0)]] * 6
    mixed = [*alike[:4], *[[(0, 0.0, 1.0), (1, 1.0, 0.5), (2, 0.5, 0.0)]] * 2]
    assert rank_agreement(alike, 3).low == 1.0
    found = rank_agreement(mixed, 3)
    assert found.low is not None
    assert found.low < 1.0


def test_the_interval_is_the_same_each_time_and_needs_two_clusters() -> None:
    alike = [(0, 1.0, 1.0), (1, 0.5, 0.5), (2, 0.0, 0.0)]
    unlike = [(0, 0.0, 1.0), (1, 1.0, 0.5), (2, 0.5, 0.0)]
    assert rank_agreement([alike, unlike] * 3, 3) == rank_agreement([alike, unlike] * 3, 3)
    two = rank_agreement([alike, unlike], 3)
    # Of two clusters three of four samples hold one of them twice: these taus are the ends.
    assert (two.low, two.high) == (kendall_tau([0.0, 1.0, 0.5], [1.0, 0.5, 0.0]), 1.0)


def test_one_cluster_has_no_interval_and_ties_have_no_tau() -> None:
    assert rank_agreement([[(0, 1.0, 1.0), (1, 0.0, 0.0)]], 2).low is None
    assert rank_agreement([[(0, 1.0, 1.0), (1, 1.0, 0.0)]], 2).tau is None


def test_a_score_is_the_mean_of_its_values() -> None:
    """By the sums the first thing would be above the second by either measure."""
    cluster = [(0, 1.0, 1.0), (0, 0.0, 0.0), (1, 0.6, 0.4)]
    assert rank_agreement([cluster], 2).tau == -1.0
    assert rank_agreement([cluster[:2], cluster[2:]], 2).tau == -1.0
    assert rank_agreement([[(0, 0.1, 0.3), (0, 0.2, 0.3), (1, 0.15, 0.1)]], 2).tau is None  # but for rounding a tie


def test_a_thing_without_a_value_has_no_rank() -> None:
    assert rank_agreement([[(0, 1.0, 1.0)]], 2).tau is None
    assert rank_agreement([], 2).tau is None


def test_there_is_an_interval_where_half_of_the_samples_have_a_tau() -> None:
    """Three draws of three clusters hold all in 6 of 27 samples; two draws of two hold the whole one in 3 of 4."""
    values = [(0, 0.1, 0.1), (1, 0.2, 0.3), (2, 0.3, 0.2)]
    apart = rank_agreement([[value] for value in values], 3)
    assert apart.tau is not None
    assert (apart.low, apart.high) == (None, None)
    fewer = rank_agreement([[values[0], values[2]], [values[1]], [values[0]]], 3)  # in 12 of 27
    assert fewer.tau is not None
    assert fewer.low is None
    whole = rank_agreement([values, values[:1]], 3)
    assert whole.low == whole.high == whole.tau


def test_the_interval_of_a_measure_turned_round_is_turned_round() -> None:
    values = [[(thing, float(thing), float((thing * at * at + 5) % 13)) for thing in range(6)] for at in range(1, 9)]
    own = rank_agreement(values, 6)
    other = rank_agreement([[(thing, one, -second) for thing, one, second in cluster] for cluster in values], 6)
    assert own.low is not None
    assert own.high is not None
    assert own.tau is not None
    assert own.low < own.tau < own.high
    assert (other.low, other.high, other.tau) == pytest.approx((-own.high, -own.low, -own.tau))


def test_one_sample_is_an_interval() -> None:
    cluster = [(0, 1.0, 1.0), (1, 0.0, 0.0)]
    found = rank_agreement([cluster, cluster], 2, samples=1)
    assert (found.low, found.high) == (1.0, 1.0)


def test_measures_of_different_subjects_are_resampled_each_by_itself() -> None:
    first = [[(0, 1.0), (1, 0.5), (2, 0.0)]] * 8
    alike = agreement_apart(first, [[(thing, value) for thing, value in first[0]]] * 3, 3)
    assert (alike.tau, alike.low, alike.high) == (1.0, 1.0, 1.0)
    turned = agreement_apart(first, [[(thing, -value) for thing, value in first[0]]] * 3, 3)
    assert (turned.tau, turned.high) == (-1.0, -1.0)
    mixed = [*first[:4], *[[(0, 0.0), (1, 0.5), (2, 1.0)]] * 2]
    wide = agreement_apart(first, mixed, 3)
    assert wide.tau == 1.0
    assert wide.low == -1.0


def test_one_cluster_of_either_measure_has_no_interval() -> None:
    first = [[(0, 1.0), (1, 0.5), (2, 0.0)]] * 8
    assert agreement_apart(first, first[:1], 3).low is None
    assert agreement_apart(first, [], 3).tau is None
