from __future__ import annotations

from collections.abc import Callable

from pytest_crab.results.summary import summarise
from pytest_crab.show.page.figures import COLUMNS, overlaps_table, repositories_table, turn
from pytest_crab.show.page.tables import fit, is_words
from pytest_crab.show.summary_tables import SummaryTable
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
    found = repositories_table(summary)
    assert found is not None
    assert found.names == ["a/a", "x/x"]
    assert found.columns == [["a", "-", "2/3 66.7%"], ["b", "0/1 0.0%", "-"]]
    assert repositories_table(summarise([make_trial("a", "one", Reason.GREEN, repo="x/x")])) is None


def test_many_reviewers_have_rows_instead_of_columns() -> None:
    few = SummaryTable("t", "word", ["x", "y"], [[f"r{at}", f"x{at}", f"y{at}"] for at in range(COLUMNS)])
    assert turn(few) is few
    many = turn(SummaryTable("t", "word", ["x", "y"], [[f"r{at}", f"x{at}", f"y{at}"] for at in range(COLUMNS + 1)]))
    assert many.names == [f"r{at}" for at in range(COLUMNS + 1)]
    assert [column[:2] for column in many.columns] == [["x", "x0"], ["y", "y0"]]


def test_a_table_that_does_not_fit_goes_on_below() -> None:
    table = SummaryTable("t", "word", ["x"], [[f"a head of words {at}", "12.5"] for at in range(30)])
    parts = fit(table)
    assert len(parts) > 1
    assert [column for part in parts for column in part.columns] == list(table.columns)
    assert {len(part.columns) for part in parts[:-1]} == {len(parts[0].columns)}
    assert [part.title for part in parts[:2]] == ["t", "t, part 2"]
    assert fit(SummaryTable("t", "word", ["x"], table.columns[:3])) == [
        SummaryTable("t", "word", ["x"], list(table.columns[:3]))
    ]


def test_columns_of_words_are_told_from_numbers() -> None:
    assert is_words(["head", "-", "7 pull requests"]) is False
    assert is_words(["head", "+3.1 (95%)", "-"]) is False
    assert is_words(["head", "docker", "24"]) is False
    assert is_words(["head", "-", "-"]) is False
    assert is_words(["head", "-", "docker"]) is True
