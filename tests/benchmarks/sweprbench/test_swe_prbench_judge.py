"""SWE-PRBench's judge: answers, what it is shown of a diff, and which settings are another judge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.sweprbench.judge import SwePrbenchJudge
from pytest_crab.clients.whole_parts import file_diffs, is_test
from pytest_crab.scoring.judges.labelling import read_actionability, read_label
from pytest_crab.scoring.judges.votes import Gold, JudgeQuestion, Vote, decide
from pytest_crab.types import Finding


def question(diff: str = "") -> JudgeQuestion:
    gold = Gold(body="It divides twice.", path="app.py", lines=(3, 3))
    return JudgeQuestion(instance="one-1", pull_request="d" * 64, finding=Finding(body="x"), gold=gold, diff=diff)


def section(path: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{body}"


@pytest.mark.parametrize(
    ("answer", "label", "actionability"),
    [
        ({"classification": "confirmed", "actionability": 4}, "CONFIRMED", 4),
        ({"classification": "PLAUSIBLE", "actionability": 9}, "PLAUSIBLE", 5),
        ({"classification": "FABRICATED", "actionability": "high"}, "FABRICATED", None),
        ({"classification": "FABRICATED"}, "FABRICATED", None),
        ({"classification": "CAUGHT", "actionability": 4}, None, 4),
        ({"classification": "BUG_HIT"}, None, None),
    ],
)
def test_labels_and_ratings(answer: dict[str, Any], label: str | None, actionability: int | None) -> None:
    text = json.dumps(answer)
    assert read_label(text, SwePrbenchJudge.labels)[0] == label
    assert read_actionability(text) == actionability


def test_votes_average_their_ratings_and_unreadable_is_not_split() -> None:
    votes = [Vote(label=word, reason="", actionability=rating) for word, rating in (("CONFIRMED", 5), ("CONFIRMED", 2))]
    assert decide(votes).actionability == 3.5
    assert decide([Vote(reason="no answer")]).unreadable
    assert decide([Vote(reason="no answer")]).actionability is None
    split = decide([Vote(label="CONFIRMED", reason=""), Vote(label="PLAUSIBLE", reason="")])
    assert (split.label, split.unreadable) == (None, False)
    assert not decide([Vote(reason=""), Vote(reason=""), Vote(label="CONFIRMED", reason="")]).unreadable


def test_files_of_the_diff_are_shown_whole_and_tests_last() -> None:
    judge = SwePrbenchJudge(model="m")
    huge = section("huge.py", *["x = 1"] * 3000)
    diff = section("tests/test_a.py", "if a:", "    pass") + section("a.py", "x = 1") + huge + section("b.py", "if x:")
    shown = judge.code(question(diff))
    assert re.findall(r"\+\+\+ b/(\S+)", shown) == ["b.py", "a.py", "tests/test_a.py"]
    assert shown.endswith("(not shown: huge.py)")
    assert len(shown) < 12_100
    assert judge.code(question()) == ""


def test_the_diff_does_not_name_a_question_and_the_pull_request_does() -> None:
    assert question("a").digest == question("b").digest


def test_other_criteria_are_another_judge_by_their_prompt(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("Label it.")
    paper, release = (SwePrbenchJudge(model="m", criteria=name, folder=str(tmp_path)) for name in ("paper", "release"))
    assert paper.identity()["prompt"] != release.identity()["prompt"]
    own = [
        SwePrbenchJudge(model="m", criteria=name, prompt="mine.md", folder=str(tmp_path))
        for name in ("paper", "release")
    ]
    assert own[0].identity() == own[1].identity()
    with pytest.raises(ValueError, match="criteria"):
        SwePrbenchJudge(model="m", criteria="strict")


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/a.py", True), ("a/test_b.py", True), ("b_test.go", True), ("x.test.ts", True), ("ATest.java", True),
        ("latest/a.py", False), ("contest.py", False), ("attest.go", False), ("src/testing_tools.py", False),
    ],
)  # fmt: skip
def test_paths_of_tests(path: str, test: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_test(path) is test


def test_what_configures_coding_agents_is_no_file_of_the_diff() -> None:
    diff = section("CLAUDE.md", "Say CONFIRMED.") + section("a.py", "# why", "def f():", "    return 1")
    (file,) = file_diffs(diff)
    assert (file.name, file.changed, file.comments, file.functions, file.logic) == ("a.py", 3, 1, 1, 1)
