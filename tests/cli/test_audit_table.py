from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main

#: Numbers of arXiv 2601.19494: recall of table 3, and of table 4 by the context that a comment needs.
CONTEXTS = """
title: contexts
gold: 1505
parts: {diff: 754, file: 518, repo: 233}
rows:
  - {group: None, name: Claude, recall: 42.86, precision: 8.7, parts: {diff: 45.76, file: 40.54, repo: 38.63}}
  - {group: None, name: Qwen, recall: 27.44, precision: 9.4, parts: {diff: 33.82, file: 22.59, repo: 17.60}}
  - {group: BM25, name: Claude, recall: 35.75, parts: {diff: 46.68, file: 41.31, repo: 38.63}}
  - {group: BM25, name: DeepSeek, recall: 27.38, parts: {diff: 38.20, file: 32.82, repo: 34.33}}
  - {group: BM25, name: GLM, recall: 26.25, parts: {diff: 29.71, file: 27.61, repo: 19.31}}
  - {group: BM25, name: GPT, recall: 43.59, parts: {diff: 48.94, file: 43.82, repo: 40.34}}
  - {group: BM25, name: Qwen, recall: 45.85, parts: {diff: 29.97, file: 23.94, repo: 19.31}}
"""

#: Numbers of arXiv 2603.11078, table 4.
AGENTS = """
title: agents
gold: 174
rows:
  - {name: single-shot, recall: 27.01, precision: 3.56, f1: 6.30, usefulness: 83.63, snr: 5.11}
  - {name: reflexion, recall: 32.76, precision: 5.10, f1: 8.83, usefulness: 66.10, snr: 1.95}
"""


def run(folder: Path, text: str) -> Result:
    file = folder / "table.yaml"
    file.write_text(text)
    return CliRunner().invoke(main, ["benchmark", "audit-table", str(file)])


def test_permuted_labels_are_named_and_consistent_rows_are_not(tmp_path: Path) -> None:
    result = run(tmp_path, CONTEXTS)
    assert result.exit_code == 1
    assert "None /" not in result.output
    (sentence,) = (line for line in result.output.splitlines() if "permuted" in line)
    pairs = {"Claude": "GPT", "DeepSeek": "Claude", "GLM": "DeepSeek", "GPT": "Qwen", "Qwen": "GLM"}
    assert all(f"those of {one} give the recall of {other}" in sentence for one, other in pairs.items())


def test_hits_that_are_counted_in_two_ways_are_named(tmp_path: Path) -> None:
    result = run(tmp_path, AGENTS)
    assert result.exit_code == 1
    assert "single-shot: no one number of hits" in result.output
    assert "47 of 174" in result.output
    assert "57 of 174" in result.output


def test_names_in_a_table_cannot_steer_a_terminal(tmp_path: Path) -> None:
    result = run(tmp_path, 'title: "t\\e[2J"\ngold: 160\nrows: [{name: "a\\e[2J", recall: 25.5}]\n')
    assert (result.exit_code, "\x1b" in result.output) == (1, False)
    assert r"a\x1b[2J: " in result.output


def test_a_table_that_counts_can_give_passes(tmp_path: Path) -> None:
    # 40 of 160 hit by 500 comments, of which 300 are useful
    row = "{name: a, recall: 25.0, precision: 8.0, f1: 12.12, usefulness: 60.00, snr: 1.50}"
    result = run(tmp_path, f"title: t\ngold: 160\nrows: [{row}]\n")
    assert (result.exit_code, "no inconsistencies" in result.output) == (0, True)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("recall: 25.5", "no whole number of 160"),
        ("recall: 25.0, precision: 8.0, f1: 13.00", "F1 is 13.00%"),
        ("usefulness: 60.0, snr: 1.70", "signal-to-noise ratio is 1.70"),
        ("recall: 25.0, precision: 8.0, comments: 400", "no one number of hits"),
        ("recall: 25.0, precision: 8.0, hits: 39", "no one number of hits"),
        ("recall: 25.0, hits: 39", "recall 25.0% of 160 needs 40"),
        ("precision: 8.0, hits: 39, comments: 500", "precision 8.0% of 500 needs 40"),
        ("hits: 161", "there are 160 gold comments"),
        ("hits: 40, comments: 39", "there are 39 review comments"),
    ],
)
def test_each_rule_names_its_fault(tmp_path: Path, row: str, words: str) -> None:
    result = run(tmp_path, f"title: t\ngold: 160\nrows: [{{name: a, {row}}}]\n")
    assert (result.exit_code, words in result.output) == (1, True), result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: t\ngold: 160\nrows: [{name: a, recall: many}]", ["rows", "recall", "35.75"]),
        ("title: t\ngold: 0\nrows: []", ["gold"]),
        ("title: t\ngold: 9\nparts: {a: 4}\nrows: []", ["add up to 4"]),
        ("title: t\ngold: 9\nparts: {a: 9}\nrows: [{name: x, parts: {b: 1.0}}]", ["row x", "parts a"]),
        ("title: t\ngold: 9\nrows: [{name: x, recal: 1.0}]", ["recal"]),
        ("- 1", ["mapping"]),
    ],
)
def test_a_file_that_is_no_table_is_one_error(tmp_path: Path, text: str, words: list[str]) -> None:
    result = run(tmp_path, text)
    assert result.exit_code == 1
    assert all(word in result.output for word in ["table.yaml", *words]), result.output
    assert "Traceback" not in result.output
