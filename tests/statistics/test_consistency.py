from __future__ import annotations

from hypothesis import given, strategies as st

from pytest_crab.statistics.consistency import PrintedRow, PrintedTable, audit

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
