from __future__ import annotations

import numpy
import pytest
import scipy
from hypothesis import assume, given, strategies as st

from pytest_crab.statistics.clusters import (
    clustered_mean,
    correlation_of,
    degrees_of_freedom,
    difference_estimate,
    rare_interval,
    rate_interval,
)

VALUE = st.sampled_from([0.0, 1.0, 0.5, 1 / 3])
CLUSTERED = st.lists(st.tuples(VALUE, st.integers(0, 5)), min_size=2, max_size=40)


def reference(values: list[float], clusters: list[int]) -> tuple[float, float]:
    """CR2 of a constant and its degrees of freedom, by the matrices of Bell and McCaffrey (2002)."""
    y, names = numpy.array(values), numpy.array(clusters)
    ones = numpy.ones((len(y), 1))
    hat = ones @ numpy.linalg.inv(ones.T @ ones) @ ones.T
    residual = (numpy.eye(len(y)) - hat) @ y
    variance, columns = 0.0, []
    for name in sorted(set(clusters)):
        own = names == name
        inner = numpy.eye(own.sum()) - hat[numpy.ix_(own, own)]
        values_, vectors = numpy.linalg.eigh(inner)
        root = vectors @ numpy.diag(values_**-0.5) @ vectors.T
        weights = (ones[own].T @ root / len(y)).ravel()
        variance += float(weights @ residual[own]) ** 2
        columns.append((numpy.eye(len(y)) - hat)[:, own] @ weights)
    matrix = numpy.array(columns) @ numpy.array(columns).T
    return variance, float(numpy.trace(matrix) ** 2 / (matrix**2).sum())


@given(CLUSTERED)
def test_the_closed_forms_are_those_of_the_matrices(pairs: list[tuple[float, int]]) -> None:
    values, clusters = [value for value, _ in pairs], [name for _, name in pairs]
    assume(len(set(clusters)) > 1)
    own = clustered_mean(values, clusters)
    variance, df = reference(values, clusters)
    assert own.variance == pytest.approx(variance, abs=1e-12)
    assert own.df == pytest.approx(df)
    assert degrees_of_freedom([clusters.count(name) for name in set(clusters)]) == pytest.approx(df)


@given(st.integers(1, 400), st.integers(1, 400))
def test_with_many_single_oracles_it_is_wilsons_interval(caught: int, missed: int) -> None:
    values = [1.0] * (500 + caught) + [0.0] * (500 + missed)
    expected = scipy.stats.binomtest(500 + caught, len(values)).proportion_ci(method="wilson")
    assert rate_interval(values, range(len(values))) == pytest.approx(tuple(expected), abs=3e-4)


@given(CLUSTERED)
def test_a_rate_lies_in_its_interval_and_that_between_0_and_1(pairs: list[tuple[float, int]]) -> None:
    values, clusters = [value for value, _ in pairs], [name for _, name in pairs]
    low, high = rate_interval(values, clusters)
    assert 0 <= low <= sum(values) / len(values) + 1e-12
    assert sum(values) / len(values) - 1e-12 <= high <= 1
    assert high - low > 0.01


def test_oracles_that_stand_and_fall_together_count_for_less() -> None:
    together = rate_interval([1, 1, 1, 1, 0, 0, 0, 0] * 5, [at // 4 for at in range(40)])
    apart = rate_interval([1, 1, 1, 1, 0, 0, 0, 0] * 5, [at % 10 for at in range(40)])
    assert together[1] - together[0] > 1.5 * (apart[1] - apart[0])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_values_without_a_difference_are_not_certain(value: float) -> None:
    low, high = rate_interval([value] * 30, [at // 3 for at in range(30)])
    assert high - low > 0.1
    low, high = difference_estimate([0.0] * 30, [at // 3 for at in range(30)]).interval()
    assert low == -high < -0.05


@pytest.mark.parametrize("values", [[1.0], [1.0, 0.0, 0.0], [1.0] * 40])
def test_a_single_cluster_bounds_nothing(values: list[float]) -> None:
    labels = ["a"] * len(values)
    assert rate_interval(values, labels) == (0.0, 1.0)
    assert difference_estimate(values, labels).interval() == (-1.0, 1.0)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 200))
def test_a_difference_mirrored_has_the_mirrored_estimate(lost: int, gained: int, same: int) -> None:
    values = [-1.0] * lost + [1.0] * gained + [0.0] * same
    own, other = (difference_estimate([sign * one for one in values], range(len(values))) for sign in (1, -1))
    assert (own.mean, own.error, own.p_drop) == pytest.approx((-other.mean, other.error, other.p_gain))
    low, high = own.interval()
    assert -1 <= low <= high <= 1
    assert other.interval() == pytest.approx((-high, -low))


def test_how_alike_clusters_are_is_seen() -> None:
    alike = [float(at // 4 % 2) for at in range(80)]
    assert correlation_of(alike, [at // 4 for at in range(80)]) > 0.9
    assert correlation_of(alike, range(80)) == 0
    assert -0.5 < correlation_of(alike, [at % 20 for at in range(80)]) < 0


@given(st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(0, 9)), min_size=12, max_size=60))
def test_a_drop_is_shown_at_a_level_exactly_where_its_p_says_so(pairs: list[tuple[float, int]]) -> None:
    values, labels = [value for value, _ in pairs], [name for _, name in pairs]
    estimate = difference_estimate(values, labels)
    for level in (0.5, 0.95, 0.99):
        low, high = estimate.interval(level)
        assert (high < 0) == (estimate.p_drop < (1 - level) / 2)
        assert (low > 0) == (estimate.p_gain < (1 - level) / 2)


def test_a_rarer_verdict_in_few_clusters_widens_the_interval_of_a_rate() -> None:
    """The same count of misses, in three repositories or in nine."""
    clusters = [at // 6 for at in range(210)]
    few = [0.0 if at < 3 * 6 and at % 2 else 1.0 for at in range(210)]
    many = [0.0 if at < 9 * 6 and at % 6 == 0 else 1.0 for at in range(210)]
    assert sum(few) == sum(many) == 201
    (low, _), (other, _) = rate_interval(few, clusters), rate_interval(many, clusters)
    assert low < other - 0.05


def test_equal_values_are_taken_as_correlated_within_clusters() -> None:
    """Three values in a cluster: 1 + 0.3 * (3 - 1)."""
    thirds = [0, 0, 0, 1, 1, 1]
    own = clustered_mean([1.0] * 6, thirds)
    assert (own.independent, own.effect) == pytest.approx((0.0, 1.6))
    single = clustered_mean([1.0], ["a"])
    assert (single.independent, single.effect, single.df) == (0.0, 1.0, 0.0)


def test_two_values_have_a_variance_and_two_clusters_an_interval() -> None:
    assert clustered_mean([1.0, 0.0], [0, 1]).independent == pytest.approx(0.25)
    low, high = rate_interval([1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1])
    assert 0 < low < 0.5 < high < 1


def test_degrees_of_freedom_of_a_rate_are_bounded_by_the_clusters_of_the_rarer_verdict() -> None:
    """Two misses of twenty, each in a cluster of its own: Wilson's formula with 19 values and three degrees."""
    low, high = rate_interval([0.0] * 2 + [1.0] * 18, range(20))
    squared = float(scipy.stats.t.ppf(0.975, 3)) ** 2
    middle = (0.9 + squared / 38) / (1 + squared / 19)
    half = (squared * (0.09 / 19 + squared / (4 * 19**2))) ** 0.5 / (1 + squared / 19)
    assert (low, high) == pytest.approx((middle - half, middle + half))


def test_a_correlation_is_at_most_1_and_needs_two_clusters() -> None:
    assert correlation_of([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]) == 1.0
    assert correlation_of([1, 0, 1], ["a"] * 3) == 0.0


@pytest.mark.parametrize(
    ("hits", "count", "bounds"),
    [(0, 20, (0.0, 0.16843)), (1, 20, (0.00127, 0.24873)), (20, 20, (0.83157, 1.0))],
)
def test_a_rare_share_of_clusters_of_one_has_the_interval_of_clopper_and_pearson(
    hits: int, count: int, bounds: tuple[float, float]
) -> None:
    values = [at < hits for at in range(count)]
    assert rare_interval(values, list(range(count))) == pytest.approx(bounds, abs=1e-4)


def test_a_rare_share_is_less_sure_where_clusters_are_few_or_alike() -> None:
    alone = rare_interval([False] * 20, list(range(20)))[1]
    assert rare_interval([False] * 20, [at // 4 for at in range(20)])[1] > alone
    assert rare_interval([True, False], [0, 0]) == (0.0, 1.0)


def test_runs_that_do_not_differ_are_as_sure_as_if_one_was_lost_and_one_gained() -> None:
    same, swapped = difference_estimate([0.0] * 40, range(40)), difference_estimate([1, -1, *[0.0] * 38], range(40))
    assert (same.mean, swapped.mean) == (0, 0)
    assert same.error == pytest.approx(swapped.error, rel=0.02)


def test_the_interval_of_a_difference_is_students_where_the_test_agrees() -> None:
    """Of single pairs CR2 is the textbook's variance, with one degree of freedom less than pairs."""
    values = [-1.0] * 9 + [1.0] * 2 + [0.0] * 29
    low, high = difference_estimate(values, range(40)).interval()
    half = float(scipy.stats.t.ppf(0.975, 39)) * float(scipy.stats.sem(values))
    assert (low, high) == pytest.approx((-7 / 40 - half, min(-7 / 40 + half, 1)), abs=1e-6) or high == 0


@pytest.mark.parametrize(("lost", "shown"), [(5, False), (6, True)])
def test_six_clusters_that_fell_are_the_fewest_that_show_a_drop(lost: int, shown: bool) -> None:  # noqa: FBT001
    estimate = difference_estimate([-1.0] * lost + [0.0] * 11, range(lost + 11))
    assert (estimate.interval()[1] < 0) is shown
