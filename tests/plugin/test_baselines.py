"""A run beside an earlier one, beside its control, in shards, and with parts of its reviews."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.cli.compare import compare

pytestmark = pytest.mark.bubblewrap

MINE = ("--agent=mine", "instances")


def summary(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the report and the store of the first run stay for the tests that follow."""
    return tmp_path_factory.mktemp("kept") / "run"


@pytest.fixture
def measured(lab: Any, kept: Path) -> Path:
    """A report of ``both``, which catches all four oracles; run once."""
    if not kept.exists():
        assert lab.run("--reviewer=both", "--crab-report=base", *MINE).ret == 0
        shutil.copytree(lab.path / "base", kept / "base")
        shutil.copytree(lab.store, kept / "store", symlinks=True)
    shutil.rmtree(lab.store)
    shutil.copytree(kept / "store", lab.store, symlinks=True)
    shutil.copytree(kept / "base", lab.path / "base", dirs_exist_ok=True)
    return Path(lab.path / "base")


def test_a_gate_against_an_earlier_run(lab: Any, measured: Path) -> None:
    baseline = f"--crab-baseline={measured / 'summary.json'}"
    result = lab.run("--reviewer=half", baseline, "--crab-report=now", "-v", *MINE)
    assert result.ret == 8
    result.stdout.fnmatch_lines(
        [
            "crab: baseline */base/summary.json; margin 5 points",
            "crab: gate: half: 4 oracles *assuming that 10.0% of verdicts change from run to run*",
            "half * oracles before % after % points *",
            "category functional *2 *100.0 *100.0 *+0.0 *",
            "category security *2 *100.0 *0.0 *-100.0 *",
            "half: cannot tell whether it is worse than both in summary.json*",
            "Gate inconclusive, exit status 8. Report: *",
        ]
    )
    record = summary(lab.path / "now")["gate"]
    assert (record["exit_code"], record["ruling"], record["margin"]) == (8, "inconclusive", 5)
    assert record["comparisons"]["half"]["lost"] == ["shop-1::c1", "till-2::c1"]
    assert record["rulings"][0]["word"] == "cannot tell"
    assert record["rulings"][0]["lines"][1] in " ".join(result.stdout.str().split())
    both = [str(measured), str(lab.path / "now")]
    told = CliRunner().invoke(compare, both)
    assert told.exit_code == 0
    assert "half: beside both in base, no change is shown: 2 of 4 oracles lost, none gained" in told.output
    assert CliRunner().invoke(compare, [*both, "--margin=5"]).exit_code == 8
    assert CliRunner().invoke(compare, [both[0], both[0], "--margin=100"]).exit_code == 0
    data = json.loads(CliRunner().invoke(compare, [*both, "--reviewer=both=half", "--json"]).output)
    assert data["half"]["comparison"]["lost"] == ["shop-1::c1", "till-2::c1"]
    wrong = CliRunner().invoke(compare, [*both, "--reviewer=nobody"])
    assert wrong.exit_code == 2
    assert "the first run has no reviewer nobody; it has both" in wrong.output
    twice = CliRunner().invoke(compare, [*both, "--reviewer=both=half", "--reviewer=both=half"])
    assert twice.exit_code == 2
    assert "half of the second run is named twice" in twice.output


def test_what_cannot_be_compared_is_refused_before_anything_runs(lab: Any, measured: Path) -> None:
    (lab.path / "instances" / "till-2" / "oracles" / "test_c0.py").write_text("def test_other():\n    assert 0\n")
    arguments = ("--reviewer=both", f"--crab-baseline={measured}", "--crab-report=now", *MINE)
    result = lab.run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stderr.str()
    assert "till-2 changed since, with the oracles till-2::c0: " in said
    assert said.rstrip().endswith("--crab-allow-difference=dataset compares all the same")
    assert not (lab.path / "now").exists()
    told = summary(measured)
    told["reviewers"][0]["simulated"] = True
    lab.write({"told/summary.json": json.dumps(told)})
    result = lab.run("--reviewer=both", "--crab-baseline=told", "--agent=mine", "instances/shop-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the agent mine only compares locations and understands nothing"])
    told = summary(measured)
    told["reviewers"][0]["versions"]["harness"] = ["0123"]
    lab.write({"told/summary.json": json.dumps(told)})
    result = lab.run("--reviewer=both", "--crab-baseline=told", *MINE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not comparable with told: *the harness was 0123 and is *"])
    lab.write({"old/summary.json": '{"schema": 2, "reviewers": [], "oracles": []}'})
    result = lab.run("--reviewer=both", "--crab-baseline=old", *MINE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*old has no reviewer to compare with"])
    result = lab.run("--reviewer=both", "--crab-baseline=nowhere", *MINE)
    result.stderr.fnmatch_lines(["*nowhere: there is no summary.json and no trials.jsonl; name a report's folder*"])


def test_an_agent_that_was_changed_is_no_longer_comparable(lab: Any, measured: Path) -> None:
    """Of the same name, with the same settings, and it acts on no finding."""
    arguments = ("--reviewer=both", f"--crab-baseline={measured}", "--agent=mine", "instances/shop-1")
    assert "not as in the baseline" not in lab.run(*arguments, "--crab-margin=100").stdout.str()
    lab.write({"fix.py": "import sys\n\nsys.stdin.read()\nopen('note.txt', 'w').write('so')\n"})
    result = lab.run(*arguments)
    assert result.ret == 8
    line = "crab: warning: not as in the baseline: agent mine: prompt, settings or files are others"
    assert line in result.stdout.str()
    words = " ".join(result.stdout.str().split())
    assert "gate inconclusive: not comparable with base: the agent's settings, model or files changed" in words
    assert "before %" not in result.stdout.str()
    result = lab.run(*arguments, "--crab-allow-difference=agent-version", "--crab-margin=100")
    assert result.ret == 0
    assert "both: the agent's settings, model or files changed since" in " ".join(result.stdout.str().split())


def test_shards_merged_are_one_run(lab: Any, measured: Path) -> None:
    for at in (1, 2):
        result = lab.run("--reviewer=both", f"--crab-shard={at}/2", f"--crab-report=part{at}", *MINE)
        result.assert_outcomes(passed=1, deselected=1)
    done = CliRunner().invoke(
        main, ["merge", str(lab.path / "part2"), str(lab.path / "part1"), f"--into={lab.path / 'all'}"]
    )
    assert done.exit_code == 0, done.output
    whole, merged = summary(measured), summary(lab.path / "all")
    for one in (whole, merged):
        one["reviewers"][0].pop("seconds")
        for name in ("seconds_per_run", "seconds_per_review"):
            one["reviewers"][0].pop(name, None)  # kept steps take no time
    assert merged == whole
    assert "4/4" in done.output
    lacking = CliRunner().invoke(main, ["merge", str(lab.path / "part1"), f"--into={lab.path / 'some'}"])
    assert lacking.exit_code == 1
    assert "no report is that of shard 2/2; name it too, or merge with --incomplete" in lacking.output
    assert not (lab.path / "some").exists()
    lacking = CliRunner().invoke(
        main, ["merge", str(lab.path / "part1"), f"--into={lab.path / 'some'}", "--incomplete"]
    )
    assert lacking.exit_code == 0, lacking.output
    pair = [str(measured), str(lab.path / "some"), "--margin=90"]
    missing = CliRunner().invoke(compare, pair)
    assert missing.exit_code == 8
    assert "2 oracles of the baseline are missing here and taken as unknown" in missing.output
    assert "2 only in the baseline" in CliRunner().invoke(compare, [*pair, "--part", "-v"]).output
    gated = ["--reviewer=both", "--crab-shard=1/2", f"--crab-baseline={measured}", *MINE]
    lab.run(*gated).stderr.fnmatch_lines(["*a shard is only a part; merge all of them*"])


def test_control_first_findings_and_attribution(lab: Any) -> None:
    arms = ("--crab-control", "--crab-top-n=1", "--crab-attribute")
    result = lab.run("--reviewer=both", *arms, "--crab-report=now", *MINE)
    result.assert_outcomes(passed=2, xfailed=4)
    assert result.ret == 0, "what the arms missed fails nothing"
    result.stdout.fnmatch_lines(
        [
            "crab: reviewers both, both@1 (first findings), none (control); agent mine",
            "both: net lift +100.0 points (95% interval *",
        ]
    )
    found = summary(lab.path / "now")
    rows = {row["reviewer"]: row for row in found["reviewers"]}
    assert {name: row.get("variant") for name, row in rows.items()} == {
        "both": None,
        "both@1": "first findings",
        "none": "control",
    }
    assert rows["both"]["curve"] == {"1": 0.5, "all": 1.0}
    assert rows["both"]["lift"]["net"] == 4
    assert rows["both"]["burden"]["without_effect"] == 0
    assert rows["both@1"]["burden"]["findings"] == 2
    assert found["together"]["reviewers"] == ["both"]
    trials = [json.loads(line) for line in (lab.path / "now" / "trials.jsonl").read_text().splitlines()]
    attributed = {trial["instance"]: trial["attribution"] for trial in trials if trial["reviewer"] == "both"}
    assert attributed == {name: {"c0": [0], "c1": [1]} for name in ("shop-1", "till-2")}


def test_findings_of_another_pull_request(lab: Any, measured: Path) -> None:
    result = lab.run("--reviewer=half", f"--crab-placebo={measured}", *MINE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*it has no two reviews of half to exchange"])
    result = lab.run("--reviewer=both", f"--crab-placebo={measured}", "--crab-report=now", *MINE)
    assert "both@placebo*" not in result.stdout.str(), "it is not shown the answer"
    rows = {row["reviewer"]: row for row in summary(lab.path / "now")["reviewers"]}
    assert rows["both@placebo"]["variant"] == "placebo"
    assert rows["both@placebo"]["comments"] == rows["both"]["comments"]
    assert "both@placebo" not in rows["both@placebo"]["privileged"]
