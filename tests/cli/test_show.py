"""The show command: one trial of the record, whatever contestants wrote into it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.instances.pull_requests import Subject, SubjectComment, write_subject
from pytest_crab.results.files import write_trials
from pytest_crab.show.transcripts import write_transcripts
from pytest_crab.store import FileStore
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import (
    Category,
    Finding,
    Kind,
    PartResult,
    Provenance,
    Reason,
    Review,
    Revision,
    Side,
    TestOutcome,
    Trial,
)

INSTANCE = """\
schema: 1
id: shop-1
provenance: authored
repo: owner/shop
license: MIT
pull_request: {number: 7, title: Add a cart}
source:
  tree: {path: tree, head: head.diff, reference: reference.diff}
environment: {dockerfile: python}
comments:
  - id: c0
    path: shop.py
    body: This should say two.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
"""
CHANGE = "--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n ONE = 1\n-TWO = {}\n+TWO = {}\n"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202eevil"


def trial(instance: str = "shop-1", reviewer: str = "x", repeat: int = 1) -> Trial:
    findings = (
        Finding(path="shop.py", start=2, end=2, title="Two?", severity="high", body=f"Say two.\n{HOSTILE}"),
        Finding(path="shop.py", start=2, side=Side.LEFT, body="Was zero."),
        Finding(path="shop.py", body="On the file."),
        Finding(path="else.py", start=4, end=9, body="Elsewhere."),
        Finding(body="On all of it."),
    )
    test = TestOutcome(id="test_c0.py::test_two", outcome="failed", exception="AssertionError", where="shop.py:2")
    result = comment_result(
        "c0", path="shop.py", lines=(2, 2), category=Category.FUNCTIONAL, kind=Kind.BEHAVIORAL,
        reason=Reason.FAILED, detail=f"{HOSTILE} failed", tests=(test,),
        parts=(PartResult(asks=HOSTILE, resolved=True), PartResult(asks="Say two.", resolved=False)),
    )  # fmt: skip
    return trial_of(
        instance=instance, repo="owner/shop", provenance=Provenance.AUTHORED, reviewer=reviewer, agent="simulated",
        runtime="local", repeat=repeat, simulated=True, review=Review(findings=findings),
        revision=Revision(diff=f"--- a/shop.py\n+++ b/shop.py\n@@ -2 +2 @@\n-TWO = 3\n+TWO = '{HOSTILE}'\n"),
        results=(result,), regressions=False,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("set", "shop-1")
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "shop.py").write_text("ONE = 1\nTWO = 0\n")
    (folder / "head.diff").write_text(CHANGE.format(0, 3))
    (folder / "reference.diff").write_text(CHANGE.format(3, 2))
    (folder / "instance.yaml").write_text(INSTANCE)
    (folder / "oracles").mkdir()
    (folder / "oracles" / "test_c0.py").write_text("def test_two():\n    assert False\n")
    trials = [trial(), trial(repeat=2), trial(reviewer="y"), trial("other-1"), trial("other-2")]
    write_trials(Path(".crab/report/trials.jsonl"), trials)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", *arguments], catch_exceptions=False)


SHOWN = """\
shop-1: reviewer x, agent simulated, on local
simulated agent

review: 5 findings
--- shop.py
    > 3.
    >    On the file.
@@ -1 +1 @@
    1  ONE = 1
    2 -TWO = 0
    > 2.
    >    Was zero.
    2 +TWO = 3
      | c0 was commented on here: missed
    > 1. high Two?
    >    Say two.
    >    ESCAPED
findings on lines that the diff does not show
    > 4. else.py:4-9:
    >    Elsewhere.
    > 5. the whole pull request:
    >    On all of it.

oracles
c0 shop.py:2-2 (functional, behavioral): missed (test failed: ESCAPED failed)
    | This should say two.
    part 1 of 2 is resolved: ESCAPED
    part 2 of 2 is not resolved: Say two.
    test_c0.py::test_two: failed with AssertionError at shop.py:2
tests that passed before still pass

revision
--- a/shop.py
+++ b/shop.py
@@ -2 +2 @@
-TWO = 3
+TWO = 'ESCAPED'
"""


def test_findings_lie_on_the_diff_and_nothing_steers_the_terminal() -> None:
    result = run("shop-1::x[1]")
    escaped = HOSTILE.encode("unicode_escape").decode()
    assert result.output == SHOWN.replace("ESCAPED", escaped)
    assert all(char.isprintable() or char == "\n" for char in result.output)


def test_a_trial_goes_by_the_start_of_its_name_and_a_path_as_pytest_prints_it() -> None:
    assert run("set/shop-1/instance.yaml::y").output == run("shop::y").output
    assert run("shop-1::x").output.count("agent simulated") == 2
    assert ", repeat 2\n" in run("shop-1::x[2]").output


def test_without_the_instance_findings_stand_alone() -> None:
    output = run("other-1").output
    assert "the pull request's diff is not available here" in output
    assert "    > 1. shop.py:2: high Two?\n" in output


def test_the_human_comment_comes_from_the_report_where_the_instance_is_not_at_hand() -> None:
    shutil.rmtree("set")
    comment = SubjectComment(id="c0", body=f"Say two.\n{HOSTILE}", labels={"category": "functional"})
    subject = Subject(
        instance="other-1", repo="o/n", language="python", title="t", diff=CHANGE.format(0, 3), comments=(comment,)
    )
    write_subject(Path(".crab/report"), subject)
    lines = run("other-1").output.splitlines()
    at = lines.index("    | Say two.")
    assert lines[at - 1].startswith("c0 shop.py:2-2 (functional, behavioral): missed")
    assert lines[at + 1] == f"    | {HOSTILE.encode('unicode_escape').decode()}"
    assert "      | c0 was commented on here: missed" in lines


# --- transcripts ----------------------------------------------------------------------------------------------------

KEY, OTHER = "a1" * 32, "b2" * 32


def keep_transcripts() -> None:
    """A trial that failed, with two transcripts in the store, and the report's copies of them."""
    store = FileStore(Path(".crab"))
    said = {"stdout": f"Reviewed.\n{HOSTILE}", "stderr": ""}
    for key, step, text in ((KEY, "review", json.dumps(said)), (OTHER, "revision", "x" * 50_000 + "\nlast line")):
        store.put("transcript", key, {"trial": "shop-1::x[1]", "step": step, "name": "codex", "text": text})
    failed = dataclasses.replace(trial(), error="reviewer x: it broke", transcripts=(KEY, OTHER))
    write_trials(Path(".crab/report/trials.jsonl"), [failed, trial("other-1")])
    write_transcripts(Path(".crab/report"), store, failed.transcripts)


def test_transcripts_are_printed_whole_and_steer_nothing() -> None:
    keep_transcripts()
    output = run("shop-1::x", "--transcript").output
    lines = output.splitlines()
    assert lines[:5] == ["shop-1::x", "reviewer x: it broke", "", "review, codex", "stdout:"]
    assert lines[5:9] == ["  Reviewed.", f"  {HOSTILE.encode('unicode_escape').decode()}", "", "revision, codex"]
    assert lines[9:] == ["x" * 50_000, "last line"]


def test_without_the_store_the_reports_copies_are_printed() -> None:
    keep_transcripts()
    shutil.rmtree(Path(".crab", "steps"))
    lines = run("shop-1::x", "--transcript").output.splitlines()
    assert "  Reviewed." in lines
    assert "characters left out" in "\n".join(lines)
    assert lines[-1] == "last line"
    assert "there is no transcript" in run("other-1", "--transcript").output


def test_a_transcript_goes_by_its_key_as_errors_name_it() -> None:
    keep_transcripts()
    assert run(KEY[:12], "--transcript").output.splitlines()[1:4] == ["review, codex", "stdout:", "  Reviewed."]
    assert "is not among the" in run("c3" * 6, "--transcript").output


@pytest.mark.parametrize(
    ("arguments", "telling"),
    [
        (["other"], "other may be a trial of other-1, other-2; write more of the id"),
        (["shop-1::z"], "shop-1::z is not among the 5 trials of .crab/report/trials.jsonl; there is shop-1::"),
        (["shop-1", "--report=nowhere"], "nowhere/trials.jsonl is not there; run pytest first"),
        (["shop-1[2]::"], "is not among"),
    ],
)
def test_what_is_not_there_is_one_sentence(arguments: list[str], telling: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert telling in result.output
