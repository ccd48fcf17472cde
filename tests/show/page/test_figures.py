from __future__ import annotations

from collections.abc import Callable

from pytest_crab.results.summary import summarise
from pytest_crab.show.page.figures import overlaps_table, repositories_table
from pytest_crab.types import Reason, Trial


def test_every_oracle_that_is_known_of_all_is_in_one_row(make_trial: Callable[..., Trial]) -> None:
    caught, missed, unknown = Reason.GREEN, Reason.FAILED, Reason.BROKEN
    summary = summarise(
        [
            make_trial("a", "one", caught, caught, missed, missed, unknown),
            make_trial("b", "one", caught, missed, missed, missed, caught),
            make_trial("human", "one", *[caught] * 5, privileged=("human",)),
        ]
    )
    rows = [(row.reviewers, row.oracles) for row in overlaps_table(summary)]
    assert rows == [(("a",), 1), (("a", "b"), 1), ((), 2)]


def test_repositories_have_what_is_known(make_trial: Callable[..., Trial]) -> None:
    summary = summarise(
        [
            make_trial("a", "one", Reason.GREEN, Reason.FAILED, repo="x/x"),
            make_trial("a", "two", Reason.GREEN, Reason.BROKEN, repo="x/x"),
            make_trial("a", "three", Reason.BROKEN, repo="a/a"),
            make_trial("b", "three", Reason.FAILED, repo="a/a"),
        ]
    )
    assert repositories_table(summary) == {"a/a": {"b": (0, 1)}, "x/x": {"a": (2, 3)}}
