"""Published tables of AACR-Bench and CR-Bench, numbers only: which rows are consistent, by audit and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_crab.diffs import changed_lines
from pytest_crab.statistics.consistency import PrintedRow, PrintedTable, audit
from pytest_crab.types import Side

SWEBENCH = Path(__file__).parents[3] / "shared" / "data" / "swebench"

#: How many comments of AACR-Bench need which context.
CONTEXTS = {"diff": 754, "file": 518, "repo": 233}

#: arXiv 2601.19494: recall, precision and F1 of table 3, then recall by context of table 4.
AACR = """
Agent Claude 10.10 39.90 16.12 11.95 16.84 13.77
Agent DeepSeek 4.78 11.00 6.67 4.28 4.64 8.00
Agent GLM 4.72 11.50 6.69 6.50 5.95 4.40
Agent GPT 2.99 9.90 4.59 3.21 2.52 3.45
Agent Qwen 4.39 15.30 6.82 4.49 5.24 5.94
Embedding Claude 42.86 8.00 13.48 46.82 38.03 40.77
Embedding DeepSeek 36.35 5.10 8.94 39.39 33.40 33.05
Embedding GLM 26.98 11.00 15.63 30.11 26.64 17.60
Embedding GPT 47.24 6.70 11.74 52.39 42.28 41.63
Embedding Qwen 24.25 10.20 14.36 27.06 22.78 18.45
None Claude 42.86 8.70 14.46 45.76 40.54 38.63
None DeepSeek 36.54 5.60 9.71 39.26 32.43 36.91
None GLM 27.57 11.30 16.03 31.43 24.90 21.03
None GPT 47.11 7.00 12.19 50.66 43.82 42.92
None Qwen 27.44 9.40 14.00 33.82 22.59 17.60
BM25 Claude 35.75 5.80 9.98 46.68 41.31 38.63
BM25 DeepSeek 27.38 10.90 15.59 38.20 32.82 34.33
BM25 GLM 26.25 10.20 14.69 29.71 27.61 19.31
BM25 GPT 43.59 8.80 14.64 48.94 43.82 40.34
BM25 Qwen 45.85 6.70 11.69 29.97 23.94 19.31
"""
ROWS = [line.split() for line in AACR.strip().splitlines()]

#: arXiv 2603.11078, table 4: recall, precision, F1, usefulness, SNR over 174 bugs; before them the bugs that are hit.
CR_BENCH = {
    "single-shot, GPT-5.2": (47, ("27.01", "3.56", "6.30", "83.63", "5.11")),
    "single-shot, GPT-5-mini": (32, ("18.39", "3.51", "5.90", "74.29", "2.89")),
    "Reflexion, GPT-5.2": (57, ("32.76", "5.10", "8.83", "66.10", "1.95")),
    "Reflexion, GPT-5-mini": (48, ("27.59", "3.19", "5.72", "47.72", "0.91")),
}


def weighted(row: list[str]) -> float:
    return sum(float(text) * count for text, count in zip(row[5:], CONTEXTS.values(), strict=True)) / 1505


def test_f1_follows_from_precision_and_recall_in_all_twenty_rows() -> None:
    assert len(ROWS) == 20
    for row in ROWS:
        recall, precision, f1 = (float(text) for text in row[2:5])
        assert abs(2 * recall * precision / (recall + precision) - f1) <= 0.01 + 1e-9, row


def test_recall_by_context_gives_recall_but_where_names_are_permuted() -> None:
    for row in ROWS:
        if row[0] in ("None", "Embedding"):
            assert abs(weighted(row) - float(row[2])) <= 0.01, row
    bm25 = {row[1]: row for row in ROWS if row[0] == "BM25"}
    # table 4, weighted, in the order of table 3's names, and the name in table 3 that has this recall
    found = {"Claude": 43.59, "DeepSeek": 35.75, "GLM": 27.38, "GPT": 45.85, "Qwen": 26.24}
    for name, value in found.items():
        assert abs(weighted(bm25[name]) - value) <= 0.01
    assert sorted(round(weighted(row), 1) for row in bm25.values()) == [26.2, 27.4, 35.7, 43.6, 45.8]


def test_the_audit_finds_the_permuted_names_by_itself() -> None:
    rows = tuple(
        PrintedRow(
            group=row[0],
            name=row[1],
            recall=row[2],
            precision=row[3],
            f1=row[4],
            parts=dict(zip(CONTEXTS, row[5:], strict=True)),
        )
        for row in ROWS
    )
    faults = audit(PrintedTable(title="tables 3 and 4", gold=1505, parts=CONTEXTS, rows=rows))
    places = " ".join(fault.where for fault in faults)
    assert "None" not in places
    assert "Embedding" not in places
    (permuted,) = [fault for fault in faults if "permuted" in fault.sentence]
    assert permuted.where == "BM25"
    pairs = {"Claude": "GPT", "DeepSeek": "Claude", "GLM": "DeepSeek", "GPT": "Qwen", "Qwen": "GLM"}
    assert all(f"those of {one} give the recall of {other}" in permuted.sentence for one, other in pairs.items())


@pytest.mark.parametrize("row", CR_BENCH)
def test_no_row_of_cr_bench_has_one_number_of_hits(row: str) -> None:
    bugs_hit, (recall, precision, f1, usefulness, snr) = CR_BENCH[row]
    printed = PrintedRow(name=row, recall=recall, precision=precision, f1=f1, usefulness=usefulness, snr=snr)
    (fault,) = audit(PrintedTable(title="table 4", gold=174, rows=(printed,)))
    assert "no one number of hits" in fault.sentence
    assert f"{bugs_hit} of 174" in fault.sentence


@pytest.mark.skipif(not SWEBENCH.is_dir(), reason="../shared/data/swebench is not beside this checkout")
@pytest.mark.parametrize(
    ("file", "rows", "without"),
    [("swebench_verified_500_5fields.jsonl", 500, 100), ("swebench_lite_300.jsonl", 300, 77)],
)
def test_patches_that_remove_no_line_are_lost_to_blame(file: str, rows: int, without: int) -> None:
    patches = [json.loads(line)["patch"] for line in (SWEBENCH / file).read_text().splitlines()]
    assert len(patches) == rows
    assert sum(not any(changed_lines(patch, Side.LEFT).values()) for patch in patches) == without
