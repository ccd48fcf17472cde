from __future__ import annotations

from collections.abc import Callable

from pytest_crab.results.summary import summarise
from pytest_crab.show.reviewer_numbers import MARKDOWN, idle_share, markdown_rows, page_table, terminal_table
from pytest_crab.types import Reason, Trial

GREEN, RED, LOST = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def test_burden_is_the_share_of_findings_in_reviews_without_a_catch(make_trial: Callable[..., Trial]) -> None:
    (own,) = summarise([make_trial("a", "1", GREEN, findings=3), make_trial("a", "2", RED, findings=1)]).reviewers
    assert idle_share(own) == 0.25
    (silent,) = summarise([make_trial("a", "1", RED, findings=0)]).reviewers
    assert idle_share(silent) is None


def test_a_column_of_rates_without_a_number_is_left_out(make_trial: Callable[..., Trial]) -> None:
    heads = [column[0] for column in page_table(summarise([make_trial("a", "one", Reason.GREEN)])).columns]
    assert {"Rate %", "Caught / known"} <= set(heads)
    assert not {"USD", "Net lift, points", "Of resolvable"} & set(heads)


def test_each_place_has_the_same_number_under_its_own_head(make_trial: Callable[..., Trial]) -> None:
    summary = summarise([make_trial("a", "1", GREEN, RED), make_trial("b", "1", LOST, GREEN)])
    heads, *rows = markdown_rows(summary)
    assert heads == ["Reviewer", *MARKDOWN]
    markdown = dict(zip(heads, zip(*rows, strict=True), strict=True))
    terminal = {head: tuple(cells) for head, *cells in terminal_table(summary).columns}
    page = {head: tuple(cells) for head, *cells in page_table(summary).columns}
    assert markdown["Reviewer"] == ("a", "b")
    assert markdown["Caught / known"] == terminal["Caught"] == page["Caught / known"] == ("1/2", "1/1")
    assert markdown["Overall %"] == terminal["Rate %"] == page["Rate %"]
    assert markdown["Overall %"][0] == "50.0"
    assert markdown["Unknown"] == terminal["Unknown"] == ("0", "1")


def test_a_column_of_unknowns_is_there_only_for_some(make_trial: Callable[..., Trial]) -> None:
    assert "Unknown" not in {head for head, *_ in terminal_table(summarise([make_trial("a", "1", GREEN)])).columns}
