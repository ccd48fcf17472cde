"""The import command, from end to end."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main

KINDS = (
    "kinds, inferred: 1 behavioral and 0 structural; of all resolved comments here 1 behavioral and 0 structural; "
    "of all in the paper 42 behavioral and 192 structural"
)
NAME = "owner__shop-{}@{}"


def row(number: int, *texts: str) -> dict[str, Any]:
    return {
        "instance_id": NAME.format(number, "a" * 7),
        "repo": "owner/shop",
        "pull_number": number,
        "base_commit": "b" * 40,
        "commit_to_review": {"head_commit": "a" * 40, "head_commit_message": "Sell"},
        "reference_review_comments": [{"text": text, "path": "shop.py"} for text in texts],
        "merged_commit": "c" * 40,
    }


def archive(path: Path, number: int, **content: Any) -> None:
    name = NAME.format(number, "a" * 7)
    with zipfile.ZipFile(path, "w") as target:
        data = {"instance_id": name, "repo": "owner/shop", **content}
        target.writestr(f"{path.stem}/{name}/result.json", json.dumps(data))


@pytest.fixture(autouse=True)
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAB_GIT_MIRROR", raising=False)
    Path("release").mkdir()
    Path("release", "stage4_x.jsonl").write_text("".join(json.dumps(row(n, "Sum up.")) + "\n" for n in range(1, 26)))
    test = {"comment_text": "Sum up.", "success": True, "test_code": "import shop\n", "test_file": "x/test_1.py"}
    archive(Path("release", "testgen_combined.zip"), 1, results=[test])
    resolution = [{"comment_text": "Sum up.", "resolved": True, "agent_diff": "x"}]
    archive(Path("release", "agent_resolution_combined.zip"), 1, results=resolution)
    judged = [{"comment_text": "Sum up.", "test_passed": True}]
    archive(Path("release", "results_eval_eve.zip"), 1, num_findings=2, agent_diff="x", results=judged)


def run(name: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["benchmark", name, "import", *arguments], catch_exceptions=False)


def test_a_release_becomes_a_set_that_check_likes() -> None:
    result = run("ccrab", "release", "--out", "set", "--only", "-1@")
    assert result.output.splitlines() == [
        "set: 1 instances, 1 comments, 1 oracles",
        KINDS,
        "recorded results of eve: 1",
        "recorded results of human: 1",
        "base not checked for 1 instances: CRAB_GIT_MIRROR names no folder",
    ]
    checked = CliRunner().invoke(main, ["set", "check", "set"])
    assert checked.output.splitlines()[-1] == "1 of 1 instance ok, 0 faults, 2 warnings, 1 not checked in full"


def test_long_lists_are_counted_unless_asked_for() -> None:
    lines = run("ccrab", "release", "--out", "set").output.splitlines()
    assert lines[-1] == "and 6 more notes; --all prints them"
    assert sum(line.startswith("note: ") for line in lines) == 20
    every = run("ccrab", "release", "--out", "all", "--all").output.splitlines()
    assert sum(line.startswith("note: ") for line in every) == 26


def test_a_release_without_its_rows_is_an_error_and_a_retry_into_the_same_folder_works() -> None:
    Path("release", "stage4_x.jsonl").rename("rows")
    result = run("ccrab", "release", "--out", "set")
    assert (result.exit_code, len(result.output.splitlines())) == (1, 1)
    assert result.output.startswith("Error: release: stage4_*.jsonl")
    assert not Path("set").exists()
    Path("rows").rename(Path("release", "stage4_x.jsonl"))
    assert run("ccrab", "release", "--out", "set").exit_code == 0
    assert len(list(Path("set").glob("owner__shop-*"))) == 25


def test_a_damaged_archive_is_one_sentence() -> None:
    Path("release", "results_eval_eve.zip").write_bytes(b"no zip")
    result = run("ccrab", "release", "--out", "set")
    assert result.exit_code == 1
    assert result.output.startswith("Error: release/results_eval_eve.zip: it cannot be opened as a zip (")
    assert len(result.output.splitlines()) == 1
    assert not Path("set").exists()


def test_a_bad_pattern_is_a_usage_error() -> None:
    result = run("ccrab", "release", "--out", "set", "--only", "(")
    assert result.exit_code == 2
    assert "'(' is no regular expression" in result.output


def test_plain_rows_become_instances_without_oracles() -> None:
    result = run("swecare", "release/stage4_x.jsonl", "--out", "set", "--only", "-2@")
    assert result.output == "set: 1 instances, 1 comments, no oracles\n"
    assert run("swecare", "release/results_eval_eve.zip", "--out", "other").exit_code == 1
    checked = CliRunner().invoke(main, ["set", "check", "set"])
    assert checked.exit_code == 0
