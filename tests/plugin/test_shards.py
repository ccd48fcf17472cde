"""Runs in shards: what an empty one leaves, and that those of all shards make the report of one run.

Every run but the empty one is interrupted before its first trial, so that nothing needs a sandbox: what is looked at
is which trials are on record, and where.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli.merge import merge

INTERRUPTED = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    raise KeyboardInterrupt
"""


def summary(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "summary.json").read_text()))


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def merged(bare: Any, *parts: str) -> dict[str, Any]:
    done = CliRunner().invoke(merge, [*(str(bare.path / part) for part in parts), f"--into={bare.path / 'whole'}"])
    assert done.exit_code == 0, done.output
    return summary(bare.path / "whole")


def test_an_empty_shard_reports_that_it_has_none(bare: Any) -> None:
    bare.write({"part3/trials.jsonl": "of an earlier run\n"})
    result = bare.run("--reviewer=none", "--crab-shard=3/3", "--crab-report=part3", "instances")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["crab: shard 3/3 is empty: all 2 instances are in other shards"])
    assert (bare.path / "part3" / "trials.jsonl").read_text() == ""
    assert (summary(bare.path / "part3")["shard"], summary(bare.path / "part3")["reviewers"]) == ("3/3", [])
    assert (bare.path / "part3" / "index.html").is_file()
    assert (bare.path / "part3" / "summary.md").is_file()


def test_an_empty_shard_of_several_processes(bare: Any) -> None:
    result = bare.spawn("--reviewer=none", "--crab-shard=3/3", "--crab-report=part3", "-n1", "instances")
    assert result.ret == pytest.ExitCode.OK
    assert summary(bare.path / "part3")["shard"] == "3/3"


def test_where_nothing_was_selected_no_shard_is_empty(bare: Any) -> None:
    result = bare.run("--reviewer=none", "--crab-shard=3/3", "--crab-report=part3", "-k", "nowhere", "instances")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (bare.path / "part3").exists()


def test_shards_that_were_interrupted_or_empty_are_merged(bare: Any) -> None:
    for at in (1, 2, 3):
        bare.write({"conftest.py": INTERRUPTED})
        result = bare.spawn("--reviewer=none", f"--crab-shard={at}/3", f"--crab-report=part{at}", "instances")
        assert result.ret == (pytest.ExitCode.OK if at == 3 else pytest.ExitCode.INTERRUPTED)
    (whole,) = merged(bare, "part1", "part2", "part3")["reviewers"]
    assert (whole["instances"], whole["outcomes"]["not run"]) == (2, 4)


@pytest.mark.slow(reason="each shard is a run of pytest")
def test_shards_of_two_sets_make_the_summary_of_one_run(bare: Any) -> None:
    (bare.path / "aset").mkdir()
    (bare.path / "instances" / "till-2").rename(bare.path / "aset" / "till-2")
    bare.write({"conftest.py": INTERRUPTED})
    named = ("--reviewer=none", "--reviewer=human", "aset", "instances")  # till-2, then shop-1
    bare.spawn("--crab-report=one", *named)
    one = summary(bare.path / "one")
    for at in (1, 2):
        bare.spawn(f"--crab-shard={at}/2", f"--crab-report=part{at}", *named)
    assert [trial["instance"] for trial in read(bare.path / "one")] == ["till-2", "till-2", "shop-1", "shop-1"]
    assert [reviewer["reviewer"] for reviewer in one["reviewers"]] == ["none", "human"]
    assert merged(bare, "part1", "part2") == one
