"""Facts for the leak proof."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_crab import harness
from pytest_crab.harness.inside import leak_scan
from pytest_crab.verdict import leaks

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench


def test_a_repository_tells_its_refs_remotes_reflogs_and_commits(
    bench: Bench, without: Callable[[str, str], NoReturn]
) -> None:
    if shutil.which("git") is None:
        without("git", "git is not installed")
    tree = bench.folder / "tree"

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True)

    git("init")
    git("add", ".")
    for number in range(3):
        git("commit", "--allow-empty", "-m", str(number))
    git("branch", "pr-head")
    git("remote", "add", "origin", "https://example.org/x")
    git("pack-refs", "--all")
    (tree / ".git" / "FETCH_HEAD").write_text("x\n")
    bench.leaks = harness.LeakQuestion(state="head", project="pytest", files=("ledger.py", "test_none.py"))
    report = bench.report([])
    assert report.leaks is not None
    assert report.leaks["git"] == {
        "refs": ["refs/heads/main", "refs/heads/pr-head"],
        "remotes": ['[remote "origin"]', "url = https://example.org/x"],
        "extra": ["FETCH_HEAD"],
        "logged": 6 + 1,
        "commits": 3,
    }
    assert [entry[0] for entry in report.leaks["installed"]] == ["pytest"]
    assert str(bench.folder / "work" / "ledger.py") in report.leaks["files"]
    assert len(leaks(report.leaks, refs={"refs/heads/main"})) >= 6


def test_an_empty_place_has_no_facts(tmp_path: Path) -> None:
    (tmp_path / "FETCH_HEAD").touch()
    assert leak_scan.lines(str(tmp_path / "FETCH_HEAD")) == []
    assert leak_scan.git(str(tmp_path / ".git")) is None
    assert leak_scan.find_installed([str(tmp_path), str(tmp_path / "none")], "demo") == []
    assert leak_scan.files({"test_c0.py"}, [str(tmp_path)]) == []


@pytest.mark.parametrize("folder", ["Demo_Pkg-1.5.dist-info", "demo.pkg-1.5-py3.9.egg-info"])
def test_an_installed_copy_is_found_by_its_normalised_name(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    told = "METADATA" if folder.endswith("dist-info") else "PKG-INFO"
    (tmp_path / folder / told).write_text("Metadata-Version: 2.1\nName: Demo_Pkg\nVersion: 1.5\n\nText: x\n")
    assert leak_scan.find_installed([str(tmp_path)], "demo-pkg") == [["Demo_Pkg", "1.5", str(tmp_path / folder)]]
