"""What pytest would run of a set from outside the folder in which it was called."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.plugin.trust import require_trust

RAISES = "raise RuntimeError('code of a set was run')\n"


@pytest.fixture
def foreign(lab: Any) -> Path:
    """A folder with a set, beside the one that pytest is called in."""
    folder: Path = lab.path / "downloads"
    folder.mkdir()
    (lab.path / "instances").rename(folder / "set")
    (lab.path / "work").mkdir()
    return folder


@pytest.mark.parametrize("name", ["set/conftest.py", "set/testing/conftest.py", "conftest.py", "__init__.py"])
@pytest.mark.parametrize("reviewer", ["--reviewer=human", "--crab-reviewer=human"])
def test_its_conftest_is_refused_before_it_runs(
    lab: Any, foreign: Path, name: str, reviewer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write({f"downloads/{name}": RAISES})
    monkeypatch.chdir(lab.path / "work")
    for more in (), ("--crab-trust",), ("--collect-only",):
        result = lab.run(reviewer, *more, f"--rootdir={lab.path}", "../downloads/set")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        place = (foreign / name).parent if name.count("/") == 0 else foreign / "set"
        told = f"*{name} would be run or heeded by pytest before ../downloads/set is trusted*"
        result.stderr.fnmatch_lines([f"{told} call pytest in *{place.name}"])
        result.stderr.no_fnmatch_line("*code of a set was run*")


def test_its_settings_are_refused(lab: Any, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"downloads/set/pytest.ini": "[pytest]\n"})
    monkeypatch.chdir(lab.path / "work")
    result = lab.run("--reviewer=human", str(foreign / "set" / "shop-1"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*set/pytest.ini would be run or heeded by pytest before *set/shop-1 is trusted*"])


def test_its_store_and_settings_are_not_believed(lab: Any, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(lab.store, foreign / "set" / ".crab")
    lab.write({"downloads/set/setup.py": "", "downloads/set/crab.yaml": "reviewers: {}\n"})
    monkeypatch.chdir(lab.path / "work")
    result = lab.run("--reviewer=human", "--crab-trust", str(foreign / "set"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*set/setup.py would be run or heeded by pytest before *set is trusted*"])


def test_a_crab_yaml_beside_it_is_not_read(lab: Any, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = lab.path / "crab.yaml"
    for folder in (foreign, foreign / "set"):
        shutil.copy(own, folder / "crab.yaml")
    own.unlink()
    monkeypatch.chdir(lab.path / "work")
    for name in ("set", "set/shop-1"):
        result = lab.run("--reviewer=both", "--crab-trust", str(foreign / name))
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(
            ["ERROR: --reviewer=both: 'both' is no reviewer*(there is no crab.yaml in */work*)"]
        )
        assert str(foreign) not in result.stderr.str().partition("crab.yaml in")[2]


@pytest.mark.bubblewrap
def test_no_conftest_and_ones_own_are_fine(lab: Any, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "def pytest_report_header():\n    return 'ours was run'\n"
    lab.write({"downloads/set/conftest.py": RAISES, "conftest.py": own})
    monkeypatch.chdir(lab.path / "work")
    root = f"--rootdir={lab.path}"
    lab.run("--reviewer=human", "--crab-trust", "--noconftest", root, str(foreign / "set")).assert_outcomes(passed=2)
    (foreign / "set" / "conftest.py").unlink()
    result = lab.run("--reviewer=human", root, str(foreign / "set"))
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["ours was run"])


TEST = "def test_theirs():\n    pass\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("aside/conftest.py", RAISES),
        ("aside/test_theirs.py", RAISES + TEST),
        ("aside/test_theirs.txt", ">>> raise RuntimeError('code of a set was run')\n"),
        ("deeper/__init__.py", RAISES),
    ],
)
@pytest.mark.bubblewrap
def test_nothing_beside_its_sets_is_run(
    lab: Any, foreign: Path, file: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write({f"downloads/{file}": text, "downloads/tool/__init__.py": RAISES, "downloads/tool/code.py": RAISES})
    (foreign / "deeper").mkdir(exist_ok=True)
    (foreign / "set").rename(foreign / "deeper" / "set")
    monkeypatch.chdir(lab.path / "work")
    arguments = ("--reviewer=human", "--crab-trust", f"--rootdir={lab.path}", str(foreign))
    for more in (), ("--collect-only",):
        result = lab.run(*arguments, *more)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines([f"*{file} would be run by pytest, on this machine and in no sandbox, and *"])
        result.stdout.no_fnmatch_line("*code of a set was run*")
    (foreign / file).unlink()
    lab.run(*arguments).assert_outcomes(passed=2)


@pytest.mark.parametrize("beside", ["a bad one", "one of the same name"])
def test_what_was_changed_is_asked_for_whatever_lies_beside_it(
    lab: Any, foreign: Path, beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if beside == "a bad one":
        lab.write({"downloads/set/aside/instance.yaml": "schema: 1\n"})
    else:
        shutil.copytree(foreign / "set" / "shop-1", foreign / "set" / "sub" / "shop-1")
    monkeypatch.chdir(lab.path / "work")
    arguments = ("--reviewer=human", "--collect-only", f"--rootdir={lab.path}", str(foreign / "set" / "shop-1"))
    config = lab.pytester.parseconfig(*arguments)
    require_trust(config, lab.store, trust=True)
    require_trust(config, lab.store, trust=False)
    oracle = next((foreign / "set" / "shop-1" / "oracles").iterdir())
    oracle.write_text(f"{oracle.read_text()}\n# changed\n")
    with pytest.raises(pytest.UsageError, match="set comes from outside this folder"):
        require_trust(config, lab.store, trust=False)


def test_an_end_of_input_is_no_answer(lab: Any, foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lab.path / "work")
    config = lab.pytester.parseconfig("--reviewer=human", str(foreign / "set"))
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    with pytest.raises(pytest.UsageError, match="set comes from outside this folder"):
        require_trust(config, lab.store, trust=False)


@pytest.mark.parametrize("option", ["--crab-trust", "--crab-plan"])
def test_a_store_that_cannot_be_written(lab: Any, foreign: Path, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lab.path / "work")
    (lab.path / "file").write_text("")
    result = lab.run("--reviewer=human", option, f"--crab-store={lab.path}/file/store", str(foreign / "set"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *file*cannot be *Not a directory*"])


def test_a_folder_of_other_tests_may_have_one(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write({"tests/conftest.py": "", "tests/test_ours.py": "def test_ours():\n    pass\n", "work/x": ""})
    monkeypatch.chdir(lab.path / "work")
    lab.run("--reviewer=human", f"--rootdir={lab.path}", "../tests").assert_outcomes(passed=1)
