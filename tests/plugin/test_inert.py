"""Without a reviewer the plugin does nothing but keep pytest away from instances."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest

RAISES = "raise RuntimeError('instance code was imported')\n"
#: Files that pytest would collect, import or read if an instance were a folder like any other.
TRAPS = {
    "tree/conftest.py": RAISES,
    "tree/test_own.py": RAISES,
    "tree/__init__.py": RAISES,
    "tree/pytest.ini": "[pytest]\naddopts = --no-such-option\n",
    "oracles/conftest.py": RAISES,
    "__init__.py": RAISES,
    "test_beside.py": RAISES,
}


@pytest.fixture
def trapped(bare: Any) -> Any:
    bare.write({f"instances/shop-1/{name}": text for name, text in TRAPS.items()})
    file = bare.path / "instances" / "shop-1" / "instance.yaml"
    file.write_text(file.read_text().replace("path: tree,", "path: ../projects/shop,"))
    bare.write({"instances/projects/test_shared.py": RAISES, "instances/projects/conftest.py": RAISES})
    bare.write({"tests/test_ours.py": "def test_ours():\n    pass\n"})
    return bare


@pytest.mark.parametrize("arguments", [(), (".",), ("tests",), ("tests/test_ours.py::test_ours",)])
def test_only_the_tests_are_collected(trapped: Any, arguments: tuple[str, ...]) -> None:
    result = trapped.pytester.runpytest(*arguments)
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*crab:*")
    assert not trapped.store.exists()


def test_a_set_is_left_alone_by_its_lock_alone(bare: Any) -> None:
    bare.write({"locked/crab.lock": "", "locked/test_x.py": RAISES, "test_ours.py": "def test_ours():\n    pass\n"})
    bare.pytester.runpytest().assert_outcomes(passed=1)


def test_other_programs_files_of_that_name_hide_no_tests(bare: Any) -> None:
    bare.write({"deploy/instance.yaml": 'match: "\\\\d+"\n', "deploy/test_x.py": "def test_x():\n    pass\n"})
    bare.write({"deploy/test_more/test_y.py": "def test_y():\n    pass\n"})
    bare.pytester.runpytest().assert_outcomes(passed=2)


def test_instances_hide_no_tests_beside_them(bare: Any) -> None:
    (bare.path / "instances").rename(bare.path / "tests")
    passes = "def test_it():\n    pass\n"
    bare.write({"tests/test_ours.py": passes, "tests/unit/test_unit.py": passes, "tests/till-2/test_data.py": RAISES})
    for arguments, passed in {(): 2, ("tests",): 2, ("tests/unit",): 1, ("tests/test_ours.py",): 1}.items():
        bare.pytester.runpytest("--import-mode=importlib", *arguments).assert_outcomes(passed=passed)


@pytest.mark.parametrize("arguments", [(), ("deploy",), ("deploy/test_x.py",)])
def test_other_programs_files_of_that_name_may_be_named(bare: Any, arguments: tuple[str, ...]) -> None:
    bare.write({"deploy/instance.yaml": "machine: small\n", "deploy/test_x.py": "def test_x():\n    pass\n"})
    bare.write({"instance.yaml": "comments: none\n", "pytest.ini": "[pytest]\n"})
    bare.pytester.runpytest(*arguments).assert_outcomes(passed=1)


@pytest.mark.parametrize("word", [r'"c\x6fmments":', r'"c\u006fmments":', r'"c\U0000006fmments":'])
def test_an_instance_that_is_spelled_with_escapes_is_one(bare: Any, word: str) -> None:
    file = bare.path / "instances" / "shop-1" / "instance.yaml"
    file.write_text(file.read_text().replace("comments:", word))
    bare.write({f"instances/shop-1/{name}": text for name, text in TRAPS.items()})
    bare.write({"test_ours.py": "def test_ours():\n    pass\n"})
    bare.pytester.runpytest().assert_outcomes(passed=1)


def test_testpaths_that_hold_instances_are_no_error(trapped: Any) -> None:
    trapped.write({"pytest.ini": "[pytest]\ntestpaths = tests instances\n"})
    trapped.pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "argument",
    ["instances", "instances/till-2", "instances/till-2/instance.yaml", "instances/till-2/instance.yaml::human"],
)
def test_naming_instances_says_what_to_add(bare: Any, argument: str) -> None:
    result = bare.pytester.runpytest(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {argument} holds instances, * add --reviewer=NAME*"])


def test_naming_a_folder_of_sets_says_what_to_add(bare: Any) -> None:
    (bare.path / "all").mkdir()
    (bare.path / "instances").rename(bare.path / "all" / "small")
    result = bare.pytester.runpytest("all")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: all holds instances, * add --reviewer=NAME*"])


def test_a_folder_of_tests_that_holds_a_set_too_is_just_run(bare: Any) -> None:
    (bare.path / "instances").rename(bare.path / "data")
    bare.write({"tests/test_ours.py": "def test_ours():\n    pass\n"})
    (bare.path / "data").rename(bare.path / "tests" / "data")
    bare.pytester.runpytest("tests").assert_outcomes(passed=1)


@pytest.mark.parametrize("arguments", [("-k", "nothing"), ("--deselect", "tests/test_ours.py::test_ours")])
def test_tests_beside_a_set_may_all_be_deselected(bare: Any, arguments: tuple[str, ...]) -> None:
    (bare.path / "instances").rename(bare.path / "data")
    bare.write({"tests/test_ours.py": "def test_ours():\n    pass\n"})
    (bare.path / "data").rename(bare.path / "tests" / "data")
    result = bare.pytester.runpytest("tests", *arguments)
    result.assert_outcomes(deselected=1)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_tests_that_cannot_be_imported_are_what_is_said(bare: Any) -> None:
    (bare.path / "instances").rename(bare.path / "data")
    bare.write({"tests/test_ours.py": RAISES})
    (bare.path / "data").rename(bare.path / "tests" / "data")
    result = bare.pytester.runpytest("tests")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)


@pytest.mark.parametrize("arguments", [(), (".",), ("tests",), ("tests/test_ours.py",)])
def test_a_project_that_is_a_set_with_its_lock_runs_its_tests(bare: Any, arguments: tuple[str, ...]) -> None:
    for folder in list((bare.path / "instances").iterdir()):
        folder.rename(bare.path / folder.name)
    bare.write({"crab.lock": "", "pytest.ini": "[pytest]\n", "tests/test_ours.py": "def test_ours():\n    pass\n"})
    bare.write({f"till-2/{name}": text for name, text in TRAPS.items() if "conftest" not in name})
    bare.pytester.runpytest(*arguments).assert_outcomes(passed=1)


def test_what_an_instance_says_about_a_folder_hides_no_tests(bare: Any) -> None:
    file = bare.path / "instances" / "shop-1" / "instance.yaml"
    file.write_text(file.read_text().replace("Please escape", "As ../unit/test_x.py asks, please escape"))
    bare.write({"instances/unit/test_unit.py": "def test_unit():\n    pass\n"})
    bare.pytester.runpytest("instances/unit").assert_outcomes(passed=1)
    bare.pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("path", ["path: ../shared,", 'path: "../shared",', "path: ../shared/shop,"])
def test_a_tree_that_instances_share_is_left_alone(bare: Any, path: str) -> None:
    file = bare.path / "instances" / "shop-1" / "instance.yaml"
    file.write_text(file.read_text().replace("path: tree,", path))
    bare.write({f"instances/shared/{name}": RAISES for name in ("conftest.py", "test_own.py", "shop/test_own.py")})
    bare.write({"test_ours.py": "def test_ours():\n    pass\n"})
    bare.pytester.runpytest().assert_outcomes(passed=1)


def test_a_folder_may_have_any_name(bare: Any) -> None:
    (bare.path / os.fsdecode(b"donn\xe9es")).mkdir()
    bare.write({"test_ours.py": "def test_ours():\n    pass\n"})
    bare.pytester.runpytest().assert_outcomes(passed=1)


def test_a_folder_that_may_not_be_read_can_be_left_out(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write({"database/x": "", "test_ours.py": "def test_ours():\n    pass\n"})
    bare.write({"pytest.ini": "[pytest]\nnorecursedirs = database\n"})
    really = os.stat

    def refused(path: Any, *arguments: Any, **named: Any) -> os.stat_result:
        if isinstance(path, str | os.PathLike) and pathlib.PurePath(os.fspath(path)).parent.name == "database":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *arguments, **named)

    monkeypatch.setattr(os, "stat", refused)
    bare.pytester.runpytest().assert_outcomes(passed=1)


def test_a_name_longer_than_any_file_has_is_pytests_to_refuse(bare: Any) -> None:
    for arguments in ((), ("--reviewer=human",)):
        result = bare.pytester.runpytest("x" * 300, *arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: file or directory not found: xxx*"])


def test_it_can_be_switched_off(bare: Any) -> None:
    result = bare.pytester.runpytest_subprocess("-p", "no:pytest_crab.plugin", "--reviewer=human")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --reviewer=human*"])


@pytest.mark.bubblewrap
def test_it_can_be_loaded_by_name_where_nothing_is_loaded_by_itself(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert lab.spawn("--reviewer=human", "instances").ret == pytest.ExitCode.USAGE_ERROR
    result = lab.spawn("-p", "pytest_crab.plugin", "--reviewer=human", "instances")
    result.assert_outcomes(passed=2)


OWNER = """\
def pytest_addoption(parser):
    parser.addoption("--reviewer", action="store", default="nobody")
def pytest_report_header(config):
    return "theirs: " + config.getoption("--reviewer")
"""


@pytest.mark.bubblewrap
@pytest.mark.parametrize("place", ["module", "conftest"])
def test_another_owner_of_the_short_name_keeps_it(lab: Any, place: str) -> None:
    lab.write({"owner.py" if place == "module" else "conftest.py": OWNER})
    plugin = ("-p", "owner") if place == "module" else ()
    if place == "module":
        lab.pytester.syspathinsert()
    result = lab.spawn(*plugin, "--reviewer=alice", "--crab-reviewer=human", "instances")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*theirs: alice*"])


@pytest.mark.parametrize("taken", ['action="store_true"', "type=int"])
def test_a_short_name_of_another_that_refuses_its_value_leaves_the_others_free(bare: Any, taken: str) -> None:
    bare.write({"conftest.py": f'def pytest_addoption(parser):\n    parser.addoption("--agent", {taken})\n'})
    theirs = "--agent" if "store_true" in taken else "--agent=3"
    result = bare.pytester.runpytest("--collect-only", theirs, "--reviewer=human", "--crab-agent=mine", "instances")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["crab: *reviewers human (privileged); agent mine*"])


def test_help_lists_every_option_once(bare: Any) -> None:
    result = bare.pytester.runpytest("--help")
    text = result.stdout.str()
    for option in ("--crab-reviewer=NAME", "--crab-agent=NAME", "--crab-fail-under=RATE", "--crab-plan"):
        assert text.count(f"  {option}") == 1, option
    result.stdout.fnmatch_lines(
        ["*--reviewer=NAME *the same as --crab-reviewer*", "*--agent=NAME *the same as --crab-agent*"]
    )
