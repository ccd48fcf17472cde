"""Recorded judgements on CR-Bench: tables 3 and 4 of arXiv 2603.11078 from files, and a sentence for each fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main

#: Of the first 47 of 174 bugs 54 comments are hits; 1,267 of 1,515 comments are useful. So says table 4's first row.
HIT, HITS, USEFUL, COMMENTS, BUGS = 47, 54, 1267, 1515, 174


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def report(folder: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["report", "--recorded", str(folder), *options])
    return result.exit_code, result.output


def bug(number: int, **changes: Any) -> dict[str, Any]:
    labels = {"category": "Structural", "impact": "Reliability", "severity": "High" if number % 2 else "Low"}
    known = {"lines_fixed": 8 + number % 3, "pr_comments": 30, "pr_description": "four"}
    return {"instance_id": f"one__app-{number}", **labels, **known, **changes}


def comment(number: int, label: str) -> dict[str, Any]:
    judged = {"classification": label, "reason": "so it is"}
    return {"instance_id": f"one__app-{number}", "file": "a.py", "line": 3, "comment": "Wrong.", **judged}


def test_recorded_judgements_give_a_row_of_table_4_and_the_statistics_of_table_3(tmp_path: Path) -> None:
    write(tmp_path / "bugs.jsonl", [bug(number) for number in range(BUGS)])
    labels = ["BUG_HIT"] * HITS + ["VALID_SUGGESTION"] * (USEFUL - HITS) + ["NOISE"] * (COMMENTS - USEFUL)
    rows = [comment(at % (HIT if label == "BUG_HIT" else BUGS), label) for at, label in enumerate(labels)]
    write(tmp_path / "judgements" / "single-shot.jsonl", rows)
    write(tmp_path / "judgements" / "silent.jsonl", [])
    code, output = report(tmp_path, "--json")
    assert code == 0, output
    found = json.loads(output)
    known = found["statistics"]
    assert (known["bugs"], known["lines_fixed"], known["pr_comments"], known["pr_description"]) == (174, 9.0, 30.0, 4.0)
    assert known["by_label"]["severity"] == {"High": 87, "Low": 87}
    silent, single = (one["signal"] for one in found["judged"]["reviewers"])
    percents = [round(100 * single[name]["value"], 2) for name in ("recall", "precision", "f1", "usefulness")]
    assert [*percents, round(single["snr"]["value"], 2)] == [27.01, 3.56, 6.30, 83.63, 5.11]
    assert (single["hits"], single["bugs_hit"], round(100 * single["recall_of_hits"]["value"], 2)) == (54, 47, 31.03)
    assert single["recall_by_label"]["severity"] == {"High": [23, 87], "Low": [24, 87]}
    assert (silent["recall"]["value"], silent["snr"].get("value")) == (0.0, None)
    code, output = report(tmp_path)
    assert "on average: lines fixed 9.00" in output
    assert "silent: SNR is undefined, there is no finding" in output
    assert "recall by severity: High 23 of 87, Low 24 of 87" in output


def test_a_label_that_the_judge_does_not_have_is_unknown_and_so_is_its_bug(tmp_path: Path) -> None:
    write(tmp_path / "bugs.jsonl", [bug(1), bug(2, lines_fixed=None), bug(3)])
    rows = [comment(1, "CONFIRMED"), comment(2, "CONFIRMED"), comment(2, "BUG_HIT"), comment(3, "VALID_SUGGESTION")]
    write(tmp_path / "judgements" / "mine.jsonl", rows)
    code, output = report(tmp_path, "--json")
    assert code == 0, output
    found = json.loads(output)
    (mine,) = (one["signal"] for one in found["judged"]["reviewers"])
    assert (mine["findings"], mine["unknown_findings"], mine["bugs"], mine["unknown_bugs"]) == (2, 2, 2, 1)
    assert mine["recall"]["value"] == 0.5
    assert "there is no noise" in mine["snr"]["undefined"]
    assert "lines_fixed" not in found["statistics"]  # of one bug they are not on record
    assert "2 unknown: the classification is 'CONFIRMED'" in report(tmp_path)[1]


@pytest.mark.parametrize(
    ("bugs", "judged", "words"),
    [
        ([bug(1)], [comment(2, "NOISE")], "mine.jsonl: one__app-2 is not in bugs.jsonl"),
        ([bug(1), bug(1)], [], "bugs.jsonl: one__app-1 is there 2 times"),
        ([{"category": "Data"}], [], "bugs.jsonl, line 1: instance_id"),
        ([bug(1)], [{"instance_id": "one__app-1"}], "mine.jsonl, line 1: classification"),
        ([], [], "should hold bugs"),
    ],
)
def test_what_is_no_record_is_one_sentence(
    tmp_path: Path, bugs: list[dict[str, Any]], judged: list[dict[str, Any]], words: str
) -> None:
    write(tmp_path / "bugs.jsonl", bugs)
    write(tmp_path / "judgements" / "mine.jsonl", judged)
    code, output = report(tmp_path)
    assert (code, words in output) == (1, True), output
    assert "Traceback" not in output
