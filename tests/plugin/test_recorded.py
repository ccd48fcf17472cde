"""Recorded results in a set are replayed by name, and instances without oracles are skipped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from pytest_crab.cli import main

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def recorded(lab: Any) -> Path:
    """Of shop-1: codex led to one resolved comment, the humans to both; nothing of till-2."""
    folder: Path = lab.path / "instances" / "recorded"
    shop = lab.path / "instances" / "shop-1"
    for tool, diff, verdicts in (
        ("codex", "reference/c0.diff", [True, True]),
        ("human", "reference.diff", [True, True]),
    ):
        (folder / tool).mkdir(parents=True)
        shutil.copy(shop / diff, folder / tool / "shop-1.diff")
        result = {"c0": verdicts[0], "c1": verdicts[1]}
        data = {"schema": 1, "repo": "owner/shop", "findings": 3, "verdicts": result, "source": "here"}
        usage = {"usage": {"cost_usd": 0.25}} if tool == "codex" else {}
        (folder / tool / "shop-1.json").write_text(json.dumps(data | usage))
    (folder / "codex" / "test_trap.py").write_text("raise SystemExit('collected')\n")
    return folder


def test_a_recorded_reviewer_is_replayed_by_its_name(lab: Any, recorded: Path) -> None:
    result = lab.run("--reviewer=codex", "--reviewer=human", "--agent=replay", "-v", "instances/shop-1")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "crab: reviewers codex (privileged), human (privileged); agent replay (privileged)",
            "review: 3 findings, whose text is not on record",
            "shop-1::codex  1/2 caught; c1 missed *",
            "shop-1::human  2/2 caught; *",
            "recorded verdicts of instances:",
            "codex: 1 of 2 verdicts are the recorded ones, 1 of them after a revision that was applied",
        ]
    )
    codex, human = lab.records()
    assert (codex["review"], codex["privileged"]) == (
        {"findings": [], "set_aside": [], "unplaced": [], "cut": [], "count": 3, "usage": {"cost_usd": 0.25}},
        ["codex", "replay"],
    )
    assert len(human["review"]["findings"]) == 2
    arguments = ["report", "--recorded", "instances", "--against", ".crab/report"]
    said = CliRunner().invoke(main, arguments, catch_exceptions=False).output.splitlines()
    assert said[0].startswith("codex: 1 of 2 verdicts are the recorded ones, 1 of them after a revision")
    assert said[1].startswith(
        "  shop-1: c1: recorded caught, here missed: not explained by the record (the concern's own "
    )
    assert [line.startswith("human: 2 of 2 verdicts are the recorded ones") for line in said[2:]] == [True]


def rewrite(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("resolved", [True, False])
def test_a_recorded_revision_that_does_not_apply_is_not_on_record(lab: Any, recorded: Path, *, resolved: bool) -> None:
    revision = recorded / "codex" / "shop-1.diff"
    revision.write_text(revision.read_text().replace("price * percent", "price * rate"))
    rewrite(recorded / "codex" / "shop-1.json", verdicts={"c0": resolved, "c1": resolved})
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/shop-1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "codex: 0 of 0 verdicts are the recorded ones; 2 not on record",
            "  not on record: shop-1: c0: agent error: *revision of shop-1 does not apply*patch failed: shop.py*",
        ]
    )
    (trial,) = lab.records()
    assert trial["status"] == "not_on_record"
    assert {found["reason"] for found in trial["scores"]} == {"agent error"}


def test_line_ends_that_a_recording_lost_are_named(lab: Any, recorded: Path) -> None:
    shop = lab.path / "instances" / "shop-1"
    for name in ("tree/shop.py", "head.diff", "reference.diff", "reference/c0.diff", "reference/c1.diff"):
        text = (shop / name).read_text()
        kept = ("diff --git", "--- ", "+++ ", "@@ ")
        lines = [line if line.startswith(kept) else f"{line}\r" for line in text.splitlines()]
        (shop / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/shop-1")
    result.stdout.fnmatch_lines(["*its files have CRLF line ends and the recording has none*"])
    assert lab.records()[0]["status"] == "not_on_record"


def test_what_stands_against_a_missing_recording_is_not_on_record_either(lab: Any, recorded: Path) -> None:
    (recorded / "codex" / "shop-1.diff").unlink()
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/shop-1")
    result.stdout.fnmatch_lines(
        [
            "codex: 0 of 0 verdicts are the recorded ones; 2 not on record",
            "  not on record: shop-1: c0: agent error: agent replay: *",
        ]
    )


def test_a_recorded_catch_by_an_empty_revision_is_a_note(lab: Any, recorded: Path) -> None:
    (recorded / "codex" / "shop-1.diff").write_text("")
    rewrite(recorded / "codex" / "shop-1.json", verdicts={"c0": True, "c1": False})
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/shop-1")
    result.stdout.fnmatch_lines(
        [
            "codex: 1 of 1 verdicts are the recorded ones, none of them after a revision that was applied",
            "  note: shop-1: c0: recorded caught with an empty revision*",
        ]
    )


def test_a_bad_recording_of_another_tool_takes_only_the_comparison_away(lab: Any, recorded: Path) -> None:
    (recorded / "other").mkdir()
    (recorded / "other" / "shop-1.json").write_text("{")
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/shop-1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["recorded verdicts of instances cannot be read:", "*recorded: other/shop-1.json: it is no JSON (*"]
    )


def test_what_is_not_recorded_is_an_error_that_names_the_file(lab: Any, recorded: Path) -> None:
    result = lab.run("--reviewer=codex", "--agent=replay", "instances/till-2")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["reviewer codex: *recorded/codex/till-2.json: no review is recorded there *"])


def test_a_recording_of_no_findings_needs_no_revision(lab: Any, recorded: Path) -> None:
    data = json.loads((recorded / "codex" / "shop-1.json").read_text())
    (recorded / "codex" / "shop-1.json").write_text(json.dumps(data | {"findings": 0}))
    result = lab.run("--reviewer=codex", "--agent=replay", "-v", "instances/shop-1")
    result.stdout.fnmatch_lines(["shop-1::codex  0/2 caught; c0, c1 missed (no findings: *"])


def test_a_name_that_nobody_knows_stays_an_error_without_replay(lab: Any, recorded: Path) -> None:
    result = lab.run("--reviewer=some-tool", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'some-tool' is no reviewer; use one of *"])


def test_recorded_results_are_no_tests_and_no_instances(lab: Any, recorded: Path) -> None:
    result = lab.run("--reviewer=human", "--collect-only", "-q", "instances")
    result.stdout.fnmatch_lines(["2 tests collected*"])
    result = lab.pytester.runpytest("instances", "--collect-only")
    result.stderr.fnmatch_lines(["ERROR: instances holds instances, *"])
    result.stdout.no_fnmatch_line("*collected'*")


def make_bare(lab: Any) -> None:
    """Leave till-2 without an environment and without oracles."""
    file = lab.path / "instances" / "till-2" / "instance.yaml"
    document = yaml.safe_load(file.read_text())
    del document["environment"]
    document.pop("pass_to_pass", None)
    for comment in document["comments"]:
        for key in ("kind", "category", "oracle", "reference", "accepts", "rejects"):
            comment.pop(key, None)
        comment["labels"] = {"severity": "high"}
    file.write_text(yaml.safe_dump(document))


def test_the_review_of_an_instance_without_environment_and_oracles_is_kept(lab: Any) -> None:
    make_bare(lab)
    result = lab.run("--reviewer=human", "--crab-junit=crab.xml", "instances")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    shop, till = lab.records()
    assert (till["instance"], till["scores"], till.get("revision")) == ("till-2", [], None)
    assert till["review"]["findings"]
    assert [comment["labels"] for comment in till["comments"]] == [{"severity": "high"}] * len(till["comments"])
    assert {step["step"] for step in till["steps"]} == {"fetch", "review"}
    assert shop["scores"]
    assert 'classname="till-2"' in (lab.path / "crab.xml").read_text()
    again = lab.run("--reviewer=human", "instances")
    again.assert_outcomes(passed=2)
    assert [step["reused"] for step in lab.records()[1]["steps"] if step["step"] == "review"] == [True]


def test_a_reviewer_that_fails_on_it_is_an_error(lab: Any) -> None:
    make_bare(lab)
    result = lab.run("--reviewer=moody", "--agent=mine", "instances/till-2")
    result.assert_outcomes(errors=1)
    (till,) = lab.records()
    assert "review" not in till
    assert till["error"].startswith("reviewer moody")


def test_findings_on_a_clean_pull_request_are_false_alarms(lab: Any) -> None:
    make_bare(lab)
    file = lab.path / "instances" / "till-2" / "instance.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "comments": [], "clean": True}))
    result = lab.run("--reviewer=both", "--reviewer=human", "-v", "instances/till-2")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["False alarms per clean PR 2.00   0.00", "Clean PRs with a finding   1/1    0/1"])
    both, human = lab.records()
    assert [(trial["clean"], len(trial["review"].get("findings", []))) for trial in (both, human)] == [
        (True, 2),
        (True, 0),
    ]
    assert both["scores"] == []
    chosen = lab.run("--reviewer=human", "-m", "crab(clean='yes')", "instances")
    chosen.assert_outcomes(passed=1, deselected=1)


def test_it_is_so_in_workers_too(lab: Any) -> None:
    pytest.importorskip("xdist")
    make_bare(lab)
    result = lab.spawn("--reviewer=human", "-n1", "instances")
    result.assert_outcomes(passed=2)
    assert [trial["instance"] for trial in lab.records()] == ["shop-1", "till-2"]


def test_comments_without_oracle_are_said_and_not_measured(lab: Any) -> None:
    file = lab.path / "instances" / "shop-1" / "instance.yaml"
    text = file.read_text()
    half = text[: text.index("    kind: structural")]
    file.write_text(half)
    result = lab.run("--reviewer=human", "instances/shop-1")
    result.assert_outcomes(passed=1)
    (trial,) = lab.records()
    assert [found["subject"] for found in trial["scores"]] == ["c0"]
    assert len(trial["review"]["findings"]) == 2


def test_a_jest_oracle_is_broken_and_never_missed(lab: Any) -> None:
    shop = lab.path / "instances" / "shop-1"
    (shop / "oracles" / "test_c1.test.js").write_text("test('x', () => {})\n")
    text = (shop / "instance.yaml").read_text()
    (shop / "instance.yaml").write_text(
        text.replace("oracle: oracles/test_c1.py", "oracle: {file: oracles/test_c1.test.js, runner: jest}")
    )
    result = lab.run("--reviewer=human", "instances/shop-1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the oracle of c1 is not proved: jest needs node, which is not in the*"])
    (trial,) = lab.records()
    assert [(found.get("label"), found["reason"]) for found in trial["scores"]] == [
        ("caught", "green"),
        (None, "broken"),
    ]
