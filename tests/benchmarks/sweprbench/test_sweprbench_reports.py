"""Reports of SWE-PRBench's harness: their scores follow from their counts, and what is none is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main

DATA = Path(__file__).parents[4] / "shared" / "data" / "sweprbench" / "first9_records.json"


def record(task: str, human: int, labels: tuple[int, int, int], overall: float, **more: Any) -> dict[str, Any]:
    """A record with the harness's fields that are read; ``labels`` counts confirmed, plausible and fabricated."""
    names = ("confirmed_count", "plausible_count", "fabricated_count")
    return {
        "task_id": task,
        "config_name": "config_A_diff_only",
        "model": "mine",
        "difficulty": "Type1_Direct",
        "total_human_comments": human,
        "total_agent_comments": sum(labels),
        **dict(zip(names, labels, strict=True)),
        "redundancy_penalty": 0.0,
        "semantic_alignment": 0.0,
        "actionability_score": 0.0,
        "adjacent_detection_rate": 0.0,
        "agent_parse_success": True,
        "judge_parse_fallback_used": False,
        "overall_score": overall,
        **more,
    }


def told(folder: Path, records: Any, *options: str) -> tuple[int, str]:
    (folder / "eval_report_a.json").write_text(json.dumps({"run_date": "2026-09-20", "records": records}))
    result = CliRunner().invoke(main, ["report", "--recorded", str(folder), *options])
    return result.exit_code, result.output


#: One of two comments is found by one of two findings: 0.40 / 2 + (0.25 + 0.05) / 2 + 0.15 * 0.2 + 0.10 * 0.75.
HALF = record("a__1", 2, (1, 1, 0), 0.455, semantic_alignment=0.2, actionability_score=0.75)
SILENT = record("b__2", 1, (0, 0, 0), 0.0)
#: Both findings are made up and alike: below zero, so zero.
WRONG = record("c__3", 1, (0, 0, 2), 0.0, redundancy_penalty=0.5, difficulty="Type2_Contextual")
TORN = record("d__4", 3, (0, 0, 0), 0.0, agent_parse_success=False)


def test_recorded_scores_are_made_anew_and_held_against_the_recorded_ones(tmp_path: Path) -> None:
    code, output = told(tmp_path, [HALF, SILENT, WRONG, TORN], "--json")
    assert code == 0, output
    found = json.loads(output)
    (mine,) = found["reviewers"]
    assert (mine["reviewer"], mine["silent"], mine["unreadable"]) == ("mine, config_A_diff_only", 1, 1)
    assert [review["score"]["overall"] for review in found["reviews"]] == pytest.approx([0.455, 0, 0, 0])
    assert mine["summary"]["means"]["overall"] == pytest.approx(0.455 / 4)
    code, output = told(tmp_path, [HALF, SILENT, WRONG, TORN])
    assert "4 of 4 recorded scores follow from their counts" in output
    code, output = told(tmp_path, [{**HALF, "overall_score": 0.5}, SILENT])
    assert "1 of 2 recorded scores follow from their counts" in output
    assert "a__1: recorded 0.500000, its counts give 0.455000" in output


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"task_id": "a__1"}], "record 0 is of another shape (KeyError: 'total_agent_comments')"),
        (
            [HALF, {**HALF, "fabricated_count": 7}],
            "record 1 is of another shape (ValueError: its labels add up to 9 of 2",
        ),
        ([{**HALF, "total_human_comments": None}], "record 0 is of another shape"),
        (["text"], "record 0 is of another shape"),
        ([{**HALF, "total_human_comments": -1}], "record 0 is of another shape (ValueError: a count is below 0)"),
        ([{**HALF, "total_human_comments": float("inf")}], "record 0 is of another shape"),
        (7, "it is no report of SWE-PRBench's harness"),
    ],
)
def test_a_report_of_another_shape_is_one_sentence(tmp_path: Path, records: Any, said: str) -> None:
    code, output = told(tmp_path, records)
    assert code == 1
    assert said in output
    assert len(output.strip().splitlines()) == 1


def test_a_file_that_is_no_report_is_named(tmp_path: Path) -> None:
    (tmp_path / "eval_report.json").write_text("[]")
    result = CliRunner().invoke(main, ["report", "--recorded", str(tmp_path)])
    assert result.exit_code == 1
    assert "eval_report.json: it is no report of SWE-PRBench's harness" in result.output


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/sweprbench is not beside this checkout")
def test_nine_real_records_follow_from_their_counts(tmp_path: Path) -> None:
    records = [
        record(
            one["task_id"],
            one["human"],
            (one["confirmed"], one["agent"] - one["confirmed"] - one["fabricated"], one["fabricated"]),
            one["overall"],
            semantic_alignment=one["alignment"],
            actionability_score=one["actionability"],
        )
        for one in json.loads(DATA.read_text())["records"]
    ]
    code, output = told(tmp_path, records)
    assert (code, "9 of 9 recorded scores follow from their counts" in output) == (0, True), output
