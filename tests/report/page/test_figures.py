from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from pytest_crab.report.page.figures import Gathered
from pytest_crab.types import Reason
from pytest_crab.types import Trial


def _gathered(*trials: Trial) -> Gathered:
    gathered = Gathered()
    for trial in trials:
        gathered.add(trial)
    return gathered


def test_every_oracle_is_in_one_combination(make_trial: Callable[..., Trial]) -> None:
    caught, missed, unknown = Reason.GREEN, Reason.FAILED, Reason.BROKEN
    gathered = _gathered(
        make_trial("a", "one", caught, caught, missed, unknown),
        make_trial("b", "one", caught, missed, missed, caught),
    )
    rows = [(row.reviewers, row.oracles) for row in gathered.combinations()]
    assert rows == [(("a",), 1), (("a", "b"), 1), (("b",), 1), ((), 1)]


def test_repeats_count_by_their_majority_and_unknown_ones_not(make_trial: Callable[..., Trial]) -> None:
    outcomes = [Reason.GREEN, Reason.GREEN, Reason.FAILED, Reason.BROKEN]
    trials = [make_trial("a", "one", reason, repeat=at) for at, reason in enumerate(outcomes, 1)]
    gathered = _gathered(*trials, make_trial("b", "one", Reason.GREEN), make_trial("b", "one", Reason.FAILED, repeat=2))
    assert gathered.values("a") == {("one", "c0"): Fraction(2, 3)}
    assert gathered.caught("a") == {("one", "c0")}
    assert gathered.caught("b") == set(), "one of two is no majority"


def test_repositories_have_what_is_known(make_trial: Callable[..., Trial]) -> None:
    gathered = _gathered(
        make_trial("a", "one", Reason.GREEN, Reason.FAILED, repo="x/x"),
        make_trial("a", "two", Reason.GREEN, Reason.BROKEN, repo="x/x"),
        make_trial("a", "three", Reason.BROKEN, repo="a/a"),
        make_trial("b", "three", Reason.FAILED, repo="a/a"),
    )
    assert gathered.by_repository() == {"a/a": {"b": (0, 1)}, "x/x": {"a": (2, 3)}}
