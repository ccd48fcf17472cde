from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.show.page.rows import DIFF_LINES, LINE, TEXT, diff_files, near, safe, trial_detail
from pytest_crab.types import (
    FIRST,
    NO_RUNTIME,
    Category,
    CommentResult,
    ExplainedOutcome,
    Explanation,
    Finding,
    Reason,
    Side,
    StepRecord,
    Trial,
)

DIFF = (
    "diff --git a/old.py b/new.py\nsimilarity index 90%\nrename from old.py\nrename to new.py\n--- a/old.py\n"
    "+++ b/new.py\n@@ -7,3 +9,3 @@ class C:\n keep\n--- was\n+++ is\n\\ No newline at end of file\n"
    "diff --git a/x.bin b/x.bin\nindex 1..2 100644\nBinary files a/x.bin and b/x.bin differ\n"
)


@given(st.text())
def test_what_is_shown_cannot_steer(text: str) -> None:
    shown = safe(text)
    assert all(line.isprintable() and len(line) <= LINE for line in shown.split("\n"))
    assert len(shown) <= TEXT * 12


def test_indentation_stays() -> None:
    assert safe("if x:\n\treturn\r\n") == "if x:\n        return"


def test_lines_of_hunks_keep_their_marks_and_headers_have_their_own() -> None:
    renamed, binary = diff_files(DIFF)
    assert renamed["path"] == "new.py"
    similarity, *names, head, keep, was, new, end = renamed["rows"].split("\n")
    assert similarity == "#similarity index 90%"
    assert names == ["#rename from old.py", "#rename to new.py"]
    assert head == "@@@ -7,3 +9,3 @@ class C:"
    assert (keep, was, new, end) == (" keep", "--- was", "+++ is", "\\ No newline at end of file")
    assert binary == {"path": "x.bin", "rows": "#Binary files a/x.bin and b/x.bin differ"}


@given(st.text())
def test_no_text_is_too_odd_for_a_diff(text: str) -> None:
    for file in diff_files(text):
        assert len(file["rows"].split("\n")) <= DIFF_LINES + 1


def test_a_long_diff_says_that_it_goes_on() -> None:
    (file,) = diff_files("diff --git a/x b/x\n@@ -0,0 +1,9999 @@\n" + "+line\n" * 9999)
    assert file["rows"].split("\n")[-1] == "\\ more lines are in trials.jsonl"


def test_an_oracle_says_each_fact_once(make_trial: Callable[..., Trial], make_result: Callable[..., Any]) -> None:
    results = [
        make_result("c0", Reason.GREEN, detail=None),
        make_result("c1", Reason.FAILED, detail="test_x failed with AssertionError"),
        make_result("c2", Reason.NO_FINDINGS, detail="the reviewer had nothing to say"),
        make_result("c3", Reason.BROKEN, detail="no space left"),
    ]
    told = {
        "c0": Explanation(outcome=ExplainedOutcome.BY_FINDING, near=(1,), findings=(1,)),
        "c1": Explanation(outcome=ExplainedOutcome.NOT_FOUND),
        "c2": Explanation(outcome=ExplainedOutcome.NOT_FOUND),
    }
    shown = trial_detail(make_trial("a", "one", *results, explanations=told))["results"]
    assert [one["said"] for one in shown] == [
        ["by finding 1"],
        ["not found", "test_x failed with AssertionError"],
        ["the reviewer had nothing to say"],
        ["broken: no space left"],
    ]


def test_a_trial_is_run_again_as_it_was_run(make_trial: Callable[..., Trial]) -> None:
    def command(trial: Trial) -> str:
        (_, words), *_ = trial_detail(trial)["commands"]
        return str(words)

    trial = make_trial("a b", "one", Reason.GREEN, runtime="docker", repeat=3, agent="mine")
    assert command(trial) == (
        "pytest '--reviewer=a b' --agent=mine --crab-runtime=docker --crab-repeat=3 SET/one/instance.yaml"
    )
    first = make_trial("bot@5", "one", Reason.GREEN, variant=FIRST, versions={"rulers": {"location": "1"}})
    assert "--reviewer=bot --crab-top-n=5 " in command(first)
    assert "--crab-score=location" in command(first)
    assert "--crab-runtime" not in command(make_trial("a", "one", Reason.GREEN, runtime=NO_RUNTIME))


def test_steps_say_where_the_seconds_of_the_trial_went(make_trial: Callable[..., Trial]) -> None:
    steps = (StepRecord(step="proof", reused=True, seconds=5.6), StepRecord(step="verdict", reused=False, seconds=0.9))
    rows = trial_detail(make_trial("a", "one", Reason.GREEN, steps=steps, seconds=6.6))["steps"]
    assert [row[:2] for row in rows if row[0] in ("proof", "verdict", "the whole trial")] == [
        ["proof", "5.6, from the store"],
        ["verdict", "0.9"],
        ["the whole trial", "6.6"],
    ]


def test_a_finding_is_filed_under_the_nearest_comment(make_result: Callable[..., CommentResult]) -> None:
    def result(comment: str, category: Category, lines: tuple[int, int] | None, **fields: Any) -> CommentResult:
        return make_result(comment, Reason.GREEN, category=category, lines=lines, **{"path": "a.py", **fields})

    results = [
        result("c0", Category.DESIGN, (10, 12)),
        result("c1", Category.SECURITY, (30, 30)),
        result("c2", Category.TESTING, (30, 30), side=Side.LEFT),
        result("c3", Category.DOCUMENTATION, None, path="b.py"),
    ]
    findings = [
        Finding(body="in it", path="a.py", start=11),
        Finding(body="ten lines below the first, eight above the second", path="a.py", start=22),
        Finding(body="too far", path="a.py", start=41),
        Finding(body="removed side", path="a.py", start=30, side=Side.LEFT),
        Finding(body="whole file", path="b.py", start=900),
        Finding(body="other file", path="c.py", start=11),
        Finding(body="no file"),
    ]
    words = ["design", "security", None, "testing", "documentation", None, None]
    assert list(near(findings, results)) == words


@pytest.mark.parametrize("name", ["docs/für.md", "x y b/z.py", "Part b/x.py"])
def test_files_have_the_names_that_they_have_in_the_tree(name: str) -> None:
    quoted = "".join(chr(byte) if byte < 128 else f"\\{byte:03o}" for byte in name.encode())
    old, new = (f'"{side}/{quoted}"' if quoted != name else f"{side}/{name}" for side in "ab")
    (file,) = diff_files(f"diff --git {old} {new}\n--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\x0cc\u2028d\n")
    assert file == {"path": name, "rows": "@@@ -1 +1 @@\n-a\n+b\\x0cc\\u2028d"}
