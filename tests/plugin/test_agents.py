"""Several agents, and several revisions by one, on the same reviews."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

AGENTS = ("--agent=mine", "--agent=suggestions")


def summary_of(lab: Any) -> dict[str, Any]:
    return dict(json.loads((lab.report / "summary.json").read_text()))


def reviews_made(lab: Any) -> list[str]:
    return sorted(
        f"{trial['reviewer']}[{trial['repeat']}]"
        for trial in lab.records()
        for step in trial["steps"]
        if step["step"] == "review" and not step["reused"]
    )


@pytest.mark.slow(reason="runs of several agents follow each other")
def test_a_review_is_asked_for_once_for_all_agents_and_revisions(lab: Any) -> None:
    given = ("--reviewer=both", *AGENTS, "--crab-revisions=2", "--crab-jobs=1", "instances/shop-1")
    lab.run(*given, "--crab-plan").stdout.fnmatch_lines(["*1 review and at most 4 revisions*"])
    lab.run(*given)
    assert reviews_made(lab) == ["both+mine[1]"]
    found = {(trial["reviewer"], trial["agent"], trial["repeat"]): trial for trial in lab.records()}
    assert set(found) == {(f"both+{agent}", agent, at) for agent in ("mine", "suggestions") for at in (1, 2)}
    assert {(trial["review_by"], trial["review_number"]) for trial in found.values()} == {("both", 1)}
    summary = summary_of(lab)
    assert summary["mediators"]["reviewers"] == ["both"]
    assert [own["rates"] for own in summary["mediators"]["agents"]] == [{"both": 1.0}, {"both": 0.0}]
    assert [own["repeats"] for own in summary["reviewers"]] == [2, 2]
    lab.run(*given, "--crab-rerun=review")
    assert reviews_made(lab) == ["both+mine[1]"]
    lab.run("--reviewer=both", "--agent=mine", "instances/shop-1").assert_outcomes(passed=1)
    assert [lab.reused()[0][step] for step in ("review", "revision")] == [True, True]
    (alone,) = lab.records()
    assert alone["reviewer"] == "both"
    assert not alone.keys() & {"review_by", "review_number"}


def test_repeats_have_reviews_of_their_own_and_revisions_share_them(lab: Any) -> None:
    given = ("--reviewer=half", "--agent=mine", "--crab-jobs=1", "instances/shop-1")
    lab.run(*given, "--crab-repeat=2")
    assert reviews_made(lab) == ["half[1]", "half[2]"]
    lab.run(*given, "--crab-repeat=2", "--crab-revisions=2")
    assert reviews_made(lab) == []
    assert [trial["review_number"] for trial in lab.records()] == [1, 2, 1, 2]
    made = [not reused["revision"] for reused in lab.reused()]
    assert made == [False, False, True, True]


def test_a_gate_rules_on_each_reviewer_with_each_agent(lab: Any) -> None:
    given = ("--reviewer=both", "--crab-runtime=local", "instances/shop-1")
    lab.run(*given, "--agent=mine", "--crab-report=before")
    result = lab.run(*given, *AGENTS, "--crab-baseline=before", "--crab-max-unknown=1")
    gate = summary_of(lab)["gate"]
    assert list(gate["comparisons"]) == ["both+mine"]
    assert [ruling["reviewer"] for ruling in gate["rulings"]] == ["both+mine", "both+suggestions"]
    result.stdout.fnmatch_lines(["crab: gate: both+mine: *"])
    refused = lab.run(*given, "--agent=mine", "--agent=simulated", "--crab-fail-under=0.5")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*the agent simulated only compares locations*"])
