from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from pytest_crab.statistics.paired import cluster_permutation_test, holm, kappa, mcnemar


@given(st.integers(0, 50), st.integers(0, 50))
def test_mcnemar_is_scipys_binomial_test(lost: int, gained: int) -> None:
    expected = stats.binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert mcnemar(lost, gained) == pytest.approx(float(expected))


def test_five_that_go_one_way_prove_nothing_and_six_do() -> None:
    assert mcnemar(5, 0) > 0.05 > mcnemar(6, 0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(chances: list[float]) -> None:
    """Every set of hypotheses that holds one must be rejected before that one is."""
    found = holm({str(at): chance for at, chance in enumerate(chances)})
    for at in range(len(chances)):
        others = [other for other in range(len(chances)) if other != at]
        sets = [(at, *more) for size in range(len(chances)) for more in itertools.combinations(others, size)]
        closed = max(min(1.0, len(each) * min(chances[one] for one in each)) for each in sets)
        assert found[str(at)] == pytest.approx(closed)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_kappa_is_that_of_the_table(pairs: list[tuple[bool, bool]]) -> None:
    both, first, second, none = (
        sum(pair == cell for pair in pairs) for cell in itertools.product((True, False), repeat=2)
    )
    below = (both + first) * (first + none) + (both + second) * (second + none)
    found = kappa([a for a, _ in pairs], [b for _, b in pairs])
    assert found == (pytest.approx(2 * (both * none - first * second) / below) if below else None)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=9))
def test_a_few_clusters_are_swapped_in_every_way(sums: list[int]) -> None:
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, sums, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    expected = sum(total >= abs(sum(sums)) for total in totals) / len(totals)
    assert cluster_permutation_test([float(value) for value in sums], range(len(sums))) == pytest.approx(expected)


def test_many_clusters_are_drawn_with_a_seed_and_come_near_the_exact_test() -> None:
    values = [-1.0] * 30 + [1.0] * 14 + [0.0] * 100
    found = cluster_permutation_test(values, range(len(values)))
    assert found == cluster_permutation_test(values, range(len(values)))
    assert found == pytest.approx(stats.binomtest(14, 44).pvalue, abs=0.01)


@pytest.mark.parametrize(("clusters", "p"), [(13, 2 / 2**13), (40, 1 / 10_001)])
def test_what_goes_one_way_everywhere_is_as_rare_as_can_be_shown(clusters: int, p: float) -> None:
    """Every way is tried up to 13 clusters; of 10,000 draws, what was seen is one more."""
    assert cluster_permutation_test([1.0] * clusters, range(clusters)) == pytest.approx(p)


def test_what_is_lost_in_one_repository_is_one_loss() -> None:
    values = [-1.0] * 12 + [0.0] * 48
    assert cluster_permutation_test(values, [0] * 12 + list(range(1, 49))) == 1.0
    assert cluster_permutation_test(values, range(60)) == pytest.approx(2 * 0.5**12)


def test_nothing_that_differs_is_no_evidence() -> None:
    assert cluster_permutation_test([0.0] * 5, range(5)) == 1.0
