from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.statistics.consistency import PrintedRow, PrintedTable, RoundingInterval, audit

COUNTS = st.integers(1, 400).flatmap(lambda gold: st.tuples(st.just(gold), st.integers(1, gold), st.integers(1, 900)))


@given(COUNTS, st.integers(0, 3), st.data())
def test_a_row_made_of_counts_has_no_fault(counts: tuple[int, int, int], decimals: int, data: st.DataObject) -> None:
    gold, hits, others = counts
    comments = hits + others
    useful = data.draw(st.integers(hits, comments - 1))
    first = data.draw(st.integers(0, gold))
    hit_first = data.draw(st.integers(max(0, hits - gold + first), min(first, hits)))
    parts = {"one": (hit_first, first), "two": (hits - hit_first, gold - first)}
    parts = parts if 0 < first < gold else {}
    row = PrintedRow(
        name="a",
        recall=f"{100 * hits / gold:.{decimals}f}",
        precision=f"{100 * hits / comments:.{decimals}f}",
        f1=f"{200 * hits / (gold + comments):.{decimals}f}",
        usefulness=f"{100 * useful / comments:.{decimals}f}",
        snr=f"{useful / (comments - useful):.{decimals}f}",
        parts={name: f"{100 * hit / total:.{decimals}f}" for name, (hit, total) in parts.items()},
    )
    table = PrintedTable(title="t", gold=gold, rows=(row,), parts={name: total for name, (_, total) in parts.items()})
    assert audit(table) == ()


def test_rows_whose_parts_fit_their_own_recall_are_no_permutation() -> None:
    right = PrintedRow(name="a", recall="50.0", parts={"x": "50.0", "y": "50.0"})
    wrong = PrintedRow(name="b", recall="10.0", parts={"x": "20.0", "y": "20.0"})
    table = PrintedTable(title="t", gold=20, parts={"x": 10, "y": 10}, rows=(right, wrong))
    (fault,) = audit(table)
    assert fault.where == "b"


def test_rates_that_no_counts_give_together_end_the_search() -> None:
    row = PrintedRow(name="a", recall="25.0000", precision="8.0000", f1="12.1213", comments=500)
    (fault,) = audit(PrintedTable(title="t", gold=160, rows=(row,)))
    assert "no counts" in fault.sentence


def test_a_row_without_hits_is_consistent() -> None:
    def faults(**rates: str) -> list[str]:
        table = PrintedTable(title="t", gold=160, rows=(PrintedRow(name="a", **rates),))  # type: ignore[arg-type]
        return [fault.sentence for fault in audit(table)]

    assert faults(recall="0.00", precision="0.00", f1="0.00") == []
    assert faults(recall="0.00", precision="0.00", f1="0.00", usefulness="40.00", snr="0.67") == []
    assert faults(recall="0.00", precision="50.00", f1="0.00") != []
    assert faults(recall="0.00", precision="0.00", f1="5.00") != []


def sentences(gold: int = 10, parts: dict[str, int] | None = None, **row: Any) -> list[str]:
    row["parts"] = row.pop("parts_of", {})
    table = PrintedTable(title="t", gold=gold, parts=parts or {}, rows=(PrintedRow(name="a", **row),))
    return [fault.sentence for fault in audit(table)]


def test_a_printed_number_stands_for_all_that_round_to_it() -> None:
    printed = RoundingInterval.of_printed("12.5")
    assert (printed.low, printed.high) == (Fraction("0.1245"), Fraction("0.1255"))
    assert list(printed.counts(2000)) == [249, 250, 251]
    assert list(printed.counts(3)) == []
    assert all(end in printed for end in (printed.low, printed.high))
    assert Fraction("0.1256") not in printed
    ratio = RoundingInterval.of_printed("0.2", percent=False)
    assert (ratio.low, ratio.high) == (Fraction("0.15"), Fraction("0.25"))
    assert RoundingInterval.of_printed("0").low == 0
    assert list(RoundingInterval.of_printed("20").totals(1, 9)) == [5]
    assert list(RoundingInterval.of_printed("20").totals(2, 100)) == [10]
    assert list(RoundingInterval.of_printed("20").totals(1, 4)) == []
    assert list(RoundingInterval.of_printed("0").totals(0, 3)) == [1, 2, 3]
    both = printed.overlap(RoundingInterval(low=Fraction("0.125"), high=Fraction(1)))
    assert (both.low, both.high) == (Fraction("0.125"), Fraction("0.1255"))


def test_a_rate_that_no_count_gives_is_named() -> None:
    assert sentences(gold=3, recall="33.3") == []
    (fault,) = sentences(gold=3, recall="50.0")
    assert "recall is 50.0%" in fault
    assert "of 3 " in fault
    fault, *_ = sentences(gold=6, parts={"x": 3, "y": 3}, recall="50.0", parts_of={"x": "66.7", "y": "50.0"})
    assert "recall in y is 50.0%" in fault


def test_columns_that_follow_from_others_are_recomputed() -> None:
    """F1 of 50% and 50% lies between 49.5% and 50.5%; half of the comments useful is a ratio of 1."""
    assert sentences(recall="50", precision="50", f1="50") == []
    (fault,) = sentences(recall="50", precision="50", f1="60")
    assert "F1 is 60%" in fault
    assert "gives 49.50 to 50.50%" in fault
    assert sentences(usefulness="50", snr="1.0") == []
    (fault,) = sentences(usefulness="50", snr="2.0")
    assert "gives 0.98 to 1.02" in fault
    assert sentences(usefulness="100", snr="9.0") == []
    for alone in ({"f1": "60"}, {"snr": "2.0"}, {"usefulness": "50"}, {"recall": "50", "f1": "1"}):
        assert sentences(**alone) == []


def test_parts_add_up_to_the_recall() -> None:
    parts = {"x": 200, "y": 200}
    assert sentences(400, parts, recall="50", parts_of={"x": "50", "y": "50"}) == []
    assert sentences(400, parts, recall="51", parts_of={"x": "50", "y": "50"}) == []  # 50.5% of 400 are 202
    (fault,) = sentences(400, parts, recall="60", parts_of={"x": "50", "y": "50"})
    assert "198 to 202 (49.50% and more)" in fault
    (fault,) = sentences(20, {"x": 10, "y": 10}, recall="10.0", parts_of={"x": "20.0", "y": "20.0"})
    assert "4 (20.00%)" in fault


def test_one_number_of_hits_stands_behind_recall_and_precision() -> None:
    assert sentences(recall="50.0", precision="25.0") == []  # 5 of 10 and 5 of 20
    assert sentences(recall="50.0", precision="25.0", hits=5, comments=20) == []
    (fault,) = sentences(recall="50.0", precision="40.0", comments=5)
    assert "recall has 5 of 10" in fault
    assert "2 of 5 comments" in fault
    assert sentences(recall="50.0", precision="25.0", hits=4) != []
    assert sentences(recall="50.0", precision="25.0", comments=21) != []


def test_a_useful_comment_is_more_than_a_hit() -> None:
    row = {"recall": "50.0", "precision": "50.0", "comments": 10}
    assert sentences(**row, usefulness="50.0") == sentences(**row, usefulness="60.0", snr="1.5") == []
    assert sentences(**row, usefulness="40.0") != []
    assert sentences(**row, snr="2.0") != []  # no share of 10 comments
    assert sentences(**row, snr="0.2") != []


def test_labels_that_were_permuted_are_found_in_their_group() -> None:
    parts = {"x": 10, "y": 10}
    rates = {"a": ("10.0", "20.0"), "b": ("20.0", "30.0"), "c": ("30.0", "10.0")}  # recall, and that of each part
    for group in ("", "models"):
        rows = [
            PrintedRow(name=name, group=group, recall=whole, parts=dict.fromkeys(parts, part))
            for name, (whole, part) in rates.items()
        ]
        *each, permuted = audit(PrintedTable(title="t", gold=20, parts=parts, rows=tuple(rows)))
        assert len(each) == 3
        assert permuted.where == (group or "t")
        assert "those of a give the recall of b" in permuted.sentence
        assert "those of c give the recall of a" in permuted.sentence
        chain = audit(PrintedTable(title="t", gold=20, parts=parts, rows=tuple(rows[:2])))
        assert [one.where for one in chain] == [row.label for row in rows[:2]]


def test_two_labels_may_be_swapped() -> None:
    parts = {"x": 10, "y": 10}
    rates = {"a": ("10.0", "20.0"), "b": ("20.0", "10.0")}
    rows = [
        PrintedRow(name=name, recall=whole, parts=dict.fromkeys(parts, part)) for name, (whole, part) in rates.items()
    ]
    *each, swapped = audit(PrintedTable(title="t", gold=20, parts=parts, rows=tuple(rows)))
    assert [one.where for one in each] == ["a", "b"]
    assert "those of b give the recall of a" in swapped.sentence


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gold": 0}, "from 1"),
        ({"gold": 2, "parts": {"x": 2, "y": 0}}, "from 1"),
        ({"gold": 2, "parts": {"x": 1}}, "add up to 1"),
        ({"gold": 2, "rows": (PrintedRow(name="a", parts={"x": "1"}),)}, "the parts"),
    ],
)
def test_a_table_that_cannot_be_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PrintedTable(**{"title": "t", "rows": (), **fields})


@pytest.mark.parametrize("text", ["", "many", "-1", "1.", ".5", "1e3"])
def test_a_rate_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it should be a number"):
        PrintedRow(name="a", recall=text)
