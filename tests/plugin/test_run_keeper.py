"""Each run is kept, and a part of one never takes the place of a whole one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.results.kept_runs import kept_runs


def test_a_whole_run_is_shown_and_a_part_of_one_is_kept_beside_it(lab: Any) -> None:
    commit = ["-c", "user.name=me", "-c", "user.email=me@here", "commit", "-q", "--allow-empty", "-m", "all"]
    for words in (["init", "-q"], commit):
        subprocess.run(["git", *words], cwd=lab.path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=lab.path, check=True, capture_output=True, text=True
    )
    shown = lab.store / "report"
    result = lab.run("--reviewer=human", "instances")
    result.stdout.fnmatch_lines(["report: .crab/report/index.html *"])
    (whole,) = kept_runs(lab.store)
    assert whole.name.endswith(f"-{head.stdout.strip()}-human")
    assert shown.samefile(whole)
    for part in (["instances/shop-1"], ["-k", "shop", "instances"], ["-k", "shop", "-n1", "instances"]):
        result = (lab.spawn if "-n1" in part else lab.run)("--reviewer=human", *part)
        result.stdout.fnmatch_lines(
            [
                f"{shown} still shows *: this one has 1 of its 2 pull requests",
                f"report: {lab.report.relative_to(lab.path)}/index.html *",
            ]
        )
        assert [trial["instance"] for trial in lab.records()] == ["shop-1"]
        assert (lab.report / "instances" / "shop-1.json").is_file(), "workers write beside the records"
        assert shown.samefile(whole)
    assert len(kept_runs(lab.store)) == 4
    result = lab.run("--reviewer=none", "-x", "instances")
    result.stdout.fnmatch_lines([f"{shown} still shows the run before: this one was ended early"])
    assert shown.samefile(whole)
    shutil.rmtree(lab.path / "instances" / "till-2")
    lab.run("--reviewer=human", "instances")
    assert shown.samefile(lab.report), "what was removed from a set is not lacking"


def test_a_run_with_a_place_of_its_own_is_not_kept(lab: Any) -> None:
    result = lab.run("--reviewer=none", "--crab-report=mine", "instances/shop-1")
    result.stdout.fnmatch_lines(
        ["Look next: *: pytest-crab show shop-1::none --report mine", "report: mine/index.html *"]
    )
    done = CliRunner().invoke(main, ["show", "shop-1::none", "--report", str(lab.path / "mine")])
    assert "missed" in done.output
    assert kept_runs(lab.store) == []
    lab.run("--reviewer=human", "--crab-report=.crab/report", "instances/shop-1")
    lab.run("--reviewer=human", "--crab-report=.crab/report", "instances/shop-1")
    assert len(kept_runs(lab.store)) == 2, "that of the store is a link to a run, which stays as it is"


def test_a_run_that_is_refused_leaves_nothing(lab: Any) -> None:
    assert lab.run("--reviewer=human", "--agent=nobody", "instances").ret == pytest.ExitCode.USAGE_ERROR
    assert not Path(lab.store, "runs").exists()
