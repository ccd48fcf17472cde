from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics.rank_agreement import kendall_tau, rank_agreement

scipy = pytest.importorskip("scipy")


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
