from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_crab.results.explain import explain, instance_line, is_near
from pytest_crab.show.page.rows import _facts
from pytest_crab.show.trial_view import show_trial
from pytest_crab.types import (
    CommentResult,
    Finding,
    PartResult,
    Reason,
    Review,
    Revision,
    Side,
    StepRecord,
    TestOutcome,
    Trial,
)

MakeTrial = Callable[..., Trial]
MakeResult = Callable[..., CommentResult]

DIFF = """\
diff --git a/src/x.py b/src/x.py
--- a/src/x.py
+++ b/src/x.py
@@ -1,2 +1,3 @@
-one
+two
+three
 four
"""


def failure(exception: str | None, where: str | None) -> TestOutcome:
    return TestOutcome(id="oracle.py::test_secret", outcome="failed", exception=exception, where=where)


def test_a_line_says_what_was_caught_why_not_and_what_was_reused(
    make_trial: MakeTrial, make_result: MakeResult
) -> None:
    trial = make_trial(
        "codex",
        "a",
        make_result("c0", Reason.GREEN),
        make_result("c1", Reason.FAILED, tests=(failure(None, None), failure("AssertionError", "src/x.py:12"))),
        make_result("c2", Reason.BROKEN, detail="the engine\nis gone"),
        make_result("c3", Reason.BROKEN, detail="the engine\nis gone"),
        make_result("c4", Reason.FAILED),
        seconds=12.34,
        regressions=True,
        steps=(StepRecord(step="review", reused=True, seconds=0), StepRecord(step="examine", reused=False, seconds=9)),
    )
    assert instance_line(trial) == (
        "1/5 caught; c1 missed (test failed: AssertionError at src/x.py:12); c4 missed (test failed); "
        "c2, c3 unknown (broken: the engine is gone); passing tests broke; 12.3 s; reused review"
    )


def test_a_broken_guard_reads_otherwise_than_a_failed_test_of_the_concern(
    make_trial: MakeTrial, make_result: MakeResult
) -> None:
    trial = make_trial(
        "codex",
        "a",
        make_result("c0", Reason.FAILED, detail="t.py::b failed", guards=["t.py::a"]),
        make_result("c1", Reason.GUARD, detail="t.py::a failed", guards=["t.py::a"]),
    )
    assert instance_line(trial) == (
        "0/2 caught; c0 missed (the concern's own tests fail: t.py::b failed); "
        "c1 missed (a guard that held on head broke: t.py::a failed); 0.0 s"
    )


def test_each_part_of_an_oracle_has_a_line(make_trial: MakeTrial, make_result: MakeResult) -> None:
    parts = (PartResult(asks="list the\nforms", resolved=True), PartResult(asks="say where the end is", resolved=False))
    told = explain(make_trial("codex", "a", make_result("c0", Reason.FAILED, parts=parts)))
    assert told[2:4] == [
        "    part 1 of 2 is resolved: list the forms",
        "    part 2 of 2 is not resolved: say where the end is",
    ]


def test_a_line_of_a_clean_trial_is_short(make_trial: MakeTrial) -> None:
    assert instance_line(make_trial("codex", "a", Reason.GREEN, regressions=False)) == "1/1 caught; 0.0 s"


def test_a_skipped_trial_says_why(make_trial: MakeTrial) -> None:
    trial = make_trial("codex", "a", Reason.NOT_RUN, skipped="github cannot\nbe reached")
    assert instance_line(trial) == "skipped: github cannot be reached; 0.0 s"
    assert "skipped: github cannot be reached" in explain(trial)


def test_an_explanation_shows_findings_near_each_comment(make_trial: MakeTrial, make_result: MakeResult) -> None:
    findings = (
        Finding(body="Off by one.\n\nThe last item is lost.", path="src/x.py", start=44, end=50, title="Loop"),
        Finding(body="far away", path="src/x.py", start=90),
        Finding(body="of the whole pull request"),
    )
    trial = make_trial(
        "codex",
        "a",
        make_result("c0", Reason.FAILED, path="src/x.py", lines=(41, 43), detail="AssertionError at src/x.py:42"),
        make_result("c1", Reason.NO_FINDINGS, path="src/y.py", lines=(7, 7)),
        make_result("c2", Reason.GREEN),
        review=Review(findings=findings),
        revision=Revision(diff=DIFF),
        repeat=2,
        regressions=False,
    )
    assert explain(trial) == [
        "a: reviewer codex, agent claude-code, on local (repeat 2)",
        "c0 (src/x.py:41-43, functional, behavioral): missed (test failed: AssertionError at src/x.py:42)",
        "    near: src/x.py:44-50 Loop",
        "        Off by one.",
        "        The last item is lost.",
        "c1 (src/y.py:7, functional, behavioral): missed (no findings)",
        "    no finding within 10 lines",
        "c2 (functional, behavioral): caught (green)",
        "review: 3 findings",
        "revision: +2 -1 lines in 1 file",
        "tests that passed before still pass",
    ]


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (None, "revision: none"),
        (Revision(diff=" \n"), "revision: empty"),
        (Revision(diff="not\na diff"), "revision: 2 lines that are not a git diff"),
        (Revision(diff=DIFF + DIFF.replace("x.py", "y.py")), "revision: +4 -2 lines in 2 files"),
    ],
)
def test_the_size_of_a_revision(make_trial: MakeTrial, revision: Revision | None, expected: str) -> None:
    assert explain(make_trial("codex", "a", Reason.FAILED, revision=revision, findings=1))[-2:] == [
        "review: 1 finding",
        expected,
    ]


def test_a_broken_trial_says_what_broke(make_trial: MakeTrial) -> None:
    trial = make_trial(
        "codex", "a", Reason.BROKEN, findings=None, error="prepare broke: no space left", regressions=True
    )
    lines = explain(trial)
    assert "prepare broke: no space left" in lines
    assert "review: none" in lines
    assert lines[-1] == "tests that passed before are broken"  # no oracle is at fault


def test_an_oracle_that_is_not_proved_has_the_command_that_says_why(make_trial: MakeTrial) -> None:
    trial = make_trial("codex", "a", Reason.BROKEN, Reason.GREEN)
    (broken, fine) = trial.scores
    trial = replace(trial, scores=(replace(broken, evidence={"proved": False}), fine))
    assert explain(trial)[-1] == "to see what is wrong with an oracle: pytest-crab set certify a"


def test_findings_cannot_steer_the_terminal_and_stay_short(make_trial: MakeTrial, make_result: MakeResult) -> None:
    hostile = Finding(body="\x1b]0;owned\x07\x9b31m\u202e\n" + "word " * 500, path="src/x.py", title="\x1b[2J\r\nt")
    result = make_result("c0", Reason.FAILED, path="src/x.py", lines=(1, 1), detail="\x1b[31m" * 100)
    lines = explain(make_trial("codex", "a", result, review=Review(findings=(hostile,) * 7)))
    assert all(line.isprintable() for line in lines)
    assert any(r"\x1b]0;owned\x07\x9b31m\u202e" in line for line in lines)
    assert "    and 2 more near it" in lines
    assert len(lines) < 40
    assert max(map(len, lines)) < 300


def test_an_explanation_keeps_other_peoples_alphabets(make_trial: MakeTrial, make_result: MakeResult) -> None:
    result = make_result("c0", Reason.FAILED, path="src/x.py")
    trial = make_trial("codex", "a", result, review=Review(findings=(Finding(body="空指针", path="src/x.py"),)))
    assert "        空指针" in explain(trial)


def test_nothing_of_an_oracle_is_told(make_trial: MakeTrial, make_result: MakeResult) -> None:
    result = make_result("c0", Reason.FAILED, tests=(failure("AssertionError", "src/x.py:1"),))
    trial = make_trial("codex", "a", result)
    assert "test_secret" not in instance_line(trial) + "\n".join(explain(trial))


@pytest.mark.parametrize(
    ("finding", "near"),
    [
        ({"path": "x.py", "start": 20}, True),
        ({"path": "x.py", "start": 40}, True),
        ({"path": "x.py", "start": 41}, False),
        ({"path": "x.py", "start": 5, "end": 10}, True),
        ({"path": "x.py", "start": 5, "end": 9}, False),
        ({"path": "x.py", "start": 20, "side": Side.LEFT}, False),
        ({"path": "x.py"}, True),
        ({"path": "y.py", "start": 20}, False),
        ({}, False),
    ],
)
def test_near_is_ten_lines_on_the_same_side(make_result: MakeResult, finding: dict[str, object], near: bool) -> None:  # noqa: FBT001
    result = make_result("c0", Reason.FAILED, path="x.py", lines=(20, 30))
    assert is_near(Finding(body="b", **finding), result) is near  # type: ignore[arg-type]


def test_every_account_says_who_was_not_shown_all(make_trial: MakeTrial) -> None:
    cut = ("the diff was cut to 99,912 of 174,719 characters",)
    trial = make_trial("codex", "a", Reason.GREEN, review=Review(cut=cut), revision=Revision(diff=DIFF, cut=cut))
    whole = make_trial("codex", "b", Reason.GREEN, review=Review(), revision=Revision(diff=DIFF))

    def accounts(one: Trial) -> list[list[str]]:
        return [
            explain(one),
            [line.text for line in show_trial(one, None)],
            [": ".join(row) for row in _facts(one)],
        ]

    for lines in accounts(trial):
        for who in ("reviewer", "agent"):
            assert f"the {who} was not shown all: {cut[0]}" in lines
    assert not any("not shown all" in line for lines in accounts(whole) for line in lines)
