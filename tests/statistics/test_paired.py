from __future__ import annotations

import itertools

import pytest
import scipy
from hypothesis import given, strategies as st

from pytest_crab.statistics.paired import holm, kappa, mcnemar, swap_chances, two_sided


@given(st.integers(0, 50), st.integers(0, 50))
def test_mcnemar_is_scipys_binomial_test(lost: int, gained: int) -> None:
    expected = scipy.stats.binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
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


@given(st.lists(st.sampled_from([-2, -1, -1 / 3, 0, 0.2, 1, 2]), min_size=1, max_size=9))
def test_clusters_are_swapped_in_every_way(sums: list[float]) -> None:
    totals = [
        sum(sign * value for sign, value in zip(signs, sums, strict=True))
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    drop = sum(total <= sum(sums) + 1e-9 for total in totals) / len(totals)
    gain = sum(total >= sum(sums) - 1e-9 for total in totals) / len(totals)
    assert swap_chances(sums) == pytest.approx((drop, gain))


@pytest.mark.parametrize(("lost", "gained"), [(30, 14), (200, 160), (40, 0)])
def test_single_losses_and_gains_are_the_sign_test(lost: int, gained: int) -> None:
    drop, gain = swap_chances([-1.0] * lost + [1.0] * gained + [0.0] * 100)
    assert drop == pytest.approx(scipy.stats.binomtest(gained, lost + gained, alternative="less").pvalue)
    assert gain == pytest.approx(scipy.stats.binomtest(gained, lost + gained, alternative="greater").pvalue)
    assert two_sided((drop, gain)) == pytest.approx(mcnemar(lost, gained))


def test_what_is_lost_in_one_cluster_is_one_loss() -> None:
    assert swap_chances([-12.0] + [0.0] * 48) == (0.5, 1.0)


def test_nothing_that_differs_is_no_evidence() -> None:
    assert swap_chances([0.0] * 5) == swap_chances([]) == (1.0, 1.0)
