"""What a run finds in the store, what it forgets, and what --crab-plan says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

ALL = {"proof": True, "review": True, "revision": True, "verdict": True}


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called, bubblewrap is nowhere to be started."""

    def take_away() -> None:
        from pytest_crab.runtimes import bubblewrap

        monkeypatch.setattr(bubblewrap, "run_confined", None)
        monkeypatch.setattr(bubblewrap, "run_in_folder", None)

    return take_away


def test_a_second_run_reuses_every_step_and_starts_no_sandbox(lab: Any, no_sandbox: Callable[[], None]) -> None:
    no_sandbox()
    result = lab.run("--reviewer=human", "-v", "instances")
    result.assert_outcomes(passed=2)
    assert [{step: reused for step, reused in trial.items() if step in ALL} for trial in lab.reused()] == [ALL, ALL]
    result.stdout.fnmatch_lines(["shop-1::human  2/2 caught; *; reused proof, review, revision, verdict, explanation"])


def test_a_fresh_review_runs_the_review_only(lab: Any) -> None:
    lab.run("--reviewer=human", "--crab-rerun=review", "instances/shop-1").assert_outcomes(passed=1)
    (reused,) = lab.reused()
    assert {step: reused[step] for step in ALL} == {**ALL, "review": False}


def test_a_fresh_revision_runs_the_revision_only(lab: Any) -> None:
    lab.run("--reviewer=human", "--crab-rerun=revision", "instances/shop-1").assert_outcomes(passed=1)
    (reused,) = lab.reused()
    assert {step: reused[step] for step in ALL} == {**ALL, "revision": False}


def test_what_names_no_fingerprint_is_reused_to_resume_only(lab: Any) -> None:
    text = (lab.path / "crab.yaml").read_text().replace("files: [say.py], env", "readable: [say.py], env")
    (lab.path / "crab.yaml").write_text(text)
    for _ in range(2):
        lab.run("--reviewer=both", "--agent=mine", "instances").assert_outcomes(passed=2)
        assert [trial["review"] for trial in lab.reused()] == [False, False]
    assert not (lab.store / "open-run").exists()


def test_an_interrupted_run_is_resumed_once(lab: Any) -> None:
    text = (lab.path / "crab.yaml").read_text().replace("files: [say.py], env", "readable: [say.py], env")
    (lab.path / "crab.yaml").write_text(text)
    lab.run("--reviewer=half", "--agent=mine", "-x", "--crab-jobs=1", "instances").assert_outcomes(failed=1)
    assert (lab.store / "open-run").exists()
    lab.run("--reviewer=half", "--agent=mine", "instances").assert_outcomes(failed=2)
    assert [trial["review"] for trial in lab.reused()] == [True, False]
    assert not (lab.store / "open-run").exists()
    lab.run("--reviewer=half", "--agent=mine", "instances")
    assert [trial["review"] for trial in lab.reused()] == [False, False]


def test_a_plan_of_what_is_stored(lab: Any, no_sandbox: Callable[[], None]) -> None:
    no_sandbox()
    result = lab.run("--reviewer=human", "--crab-plan", "instances")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "shop-1::human  proof stored; review stored; revision stored; verdict stored; explanation stored",
            "till-2::human  proof stored; review stored; revision stored; verdict stored; explanation stored",
            "human: would run at least 0 proofs, 0 reviews, 0 revisions, 0 verdicts, 0 explanations; no model is asked",
        ]
    )
    assert not (lab.store / "report").exists()


def test_a_plan_of_what_would_run_runs_nothing(bare: Any, no_sandbox: Callable[[], None]) -> None:
    no_sandbox()
    bare.write({"test_ours.py": "def test_ours():\n    open('touched', 'w')\n"})
    result = bare.run("--reviewer=both", "--reviewer=none", "--agent=mine", "--crab-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "shop-1::both  proof would run (2 of 2); review would run; revision depends on what runs before; *",
            "both: *2 proofs, 2 reviews; revisions, verdicts, explanations: not known yet; cost not known*",
        ]
    )
    assert not (bare.store / "steps").exists()
    assert not (bare.store / "report").exists()
    assert not (bare.store / "open-run").exists()
    assert not (bare.path / "touched").exists()


def test_a_plan_hides_nothing_that_is_wrong(lab: Any) -> None:
    (lab.path / "instances" / "shop-1" / "head.diff").write_text("no diff\n")
    result = lab.run("--reviewer=human", "--crab-plan", "instances")
    result.stdout.fnmatch_lines(["1 trial cannot run (shop-1): *head.diff*"])


def test_a_plan_tells_a_reason_once_for_all_trials_that_have_it(lab: Any) -> None:
    (lab.path / "instances" / "shop-1" / "head.diff").write_text("no diff\n")
    lines = lab.run("--reviewer=human", "--reviewer=both", "--agent=mine", "--crab-plan", "instances").outlines
    assert len([line for line in lines if "head.diff" in line]) == 1
    assert [line.partition(":")[0] for line in lines if "cannot run" in line] == ["2 trials cannot run (shop-1)"]
    assert [line.partition("  ")[0] for line in lines if line.startswith("till-2::")] == [
        "till-2::human",
        "till-2::both",
    ]
