from __future__ import annotations

import pytest
import scipy
from hypothesis import given, strategies as st

from pytest_crab.statistics.distributions import sign_test, t_cdf, t_quantile

DEGREES = st.floats(1, 2000)


@given(st.floats(-40, 40).filter(lambda x: abs(x) > 1e-6), DEGREES)  # nearer to 0 scipy rounds to a half
def test_students_t_is_scipys(x: float, df: float) -> None:
    assert t_cdf(x, df) == pytest.approx(scipy.stats.t.cdf(x, df), abs=1e-9)


def test_the_middle_and_the_far_ends_of_students_t() -> None:
    assert t_cdf(0.0, 3) == 0.5
    assert (t_cdf(-1e200, 3), t_cdf(1e200, 3)) == (0.0, 1.0)


@given(st.floats(0.001, 0.999), DEGREES)
def test_its_quantiles_are_scipys(chance: float, df: float) -> None:
    assert t_quantile(chance, df) == pytest.approx(scipy.stats.t.ppf(chance, df), rel=1e-7, abs=1e-7)


def test_with_many_degrees_it_is_the_normal_distribution() -> None:
    assert t_quantile(0.975, 1e9) == pytest.approx(scipy.stats.norm.ppf(0.975))
    assert t_cdf(1.0, 1e9) == pytest.approx(scipy.stats.norm.cdf(1.0))


@pytest.mark.parametrize(("chance", "df"), [(0, 3), (1, 3), (0.5, 0), (0.5, -1)])
def test_nonsense_is_refused(chance: float, df: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(chance, df)


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_are_scipys_binomial_test(one: int, other: int) -> None:
    expected = scipy.stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert sign_test(min(one, other), one + other) == pytest.approx(expected)
