"""Options: where a value comes from, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import option_types as kinds
from pytest_crab.agents import AGENTS
from pytest_crab.option_table import OPTIONS
from pytest_crab.plugin.options import read_options
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import load_settings

USAGE = pytest.ExitCode.USAGE_ERROR


def header(bare: Any, *arguments: str) -> str:
    result = bare.pytester.runpytest("--collect-only", "instances", *arguments)
    assert result.ret == 0
    return "\n".join(line for line in result.outlines if line.startswith("crab: "))


def test_the_help_names_what_is_built_in() -> None:
    by_name = {option.name: option.help for option in OPTIONS}
    assert f"(built in: {', '.join(sorted(REVIEWERS.members))};" in by_name["reviewer"]
    assert f"(built in: {', '.join(sorted(AGENTS.members))};" in by_name["agent"]


def test_the_command_line_beats_the_environment_beats_the_ini_file_beats_the_default(
    bare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "store " + str(bare.path / ".crab") in header(bare, "--reviewer=human")
    bare.write({"pytest.ini": "[pytest]\ncrab_store = from-ini\ncrab_jobs = 3\ncrab_reviewer =\n    none\n    ruff\n"})
    assert "reviewers none (control), ruff; agent simulated" in header(bare)
    assert f"3 at a time; store {bare.path / 'from-ini'}" in header(bare)
    monkeypatch.setenv("CRAB_STORE", "from-environment")
    monkeypatch.setenv("CRAB_JOBS", "5")
    monkeypatch.setenv("CRAB_REVIEWER", "human,none")
    assert "reviewers human (privileged), none (control);" in header(bare)
    assert f"5 at a time; store {bare.path / 'from-environment'}" in header(bare)
    assert f"7 at a time; store {bare.path / 'here'}" in header(bare, "--crab-store=here", "--crab-jobs=7")
    assert "reviewers strict; agent mine" in header(bare, "--reviewer=strict", "--agent=mine")


def test_a_store_that_a_shell_names_starts_at_the_current_folder_and_one_of_a_file_at_the_rootdir(
    bare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = bare.path / "instances"
    bare.write({"pytest.ini": "[pytest]\n"})

    def store(*arguments: str) -> str:
        told = bare.pytester.runpytest_subprocess("--collect-only", "--reviewer=human", "shop-1", *arguments)
        (line,) = [line for line in told.outlines if "store " in line and line.startswith("crab: ")]
        return line.partition("store ")[2]

    monkeypatch.chdir(below)
    assert store() == str(bare.path / ".crab")
    assert store("--crab-store=mine") == str(below / "mine")
    monkeypatch.setenv("CRAB_STORE", "of-shell")
    assert store() == str(below / "of-shell")
    command = [sys.executable, "-c", "from pytest_crab.cli import main; main()", "prune", "--help"]
    assert "of-shell" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    monkeypatch.delenv("CRAB_STORE")
    bare.write({"pytest.ini": "[pytest]\ncrab_store = of-file\n"})
    assert store() == str(bare.path / "of-file")
    bare.write({"pytest.ini": "[pytest]\naddopts = --crab-store=added\n"})
    assert store() == str(bare.path / "added")


def test_short_and_long_names_are_the_same_option(bare: Any) -> None:
    text = header(bare, "--reviewer=human", "--crab-reviewer=none", "--reviewer", "human", "--agent=mine")
    assert "reviewers human (privileged), none (control); agent mine" in text


def test_the_default_agent_is_said_with_the_reason(bare: Any) -> None:
    text = header(bare, "--reviewer=human")
    assert "agent simulated (privileged; the default, since ANTHROPIC_API_KEY is not set; --agent" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--reviewer=nobody",), "ERROR: --reviewer=nobody: 'nobody' is no reviewer*; use one of *human*"),
        (("--reviewer=human", "--agent=nobody"), "ERROR: --agent=nobody: 'nobody' is no agent; use one of *"),
        (("--reviewer=no.module:Class",), "ERROR: *no.module:Class cannot be imported *"),
        (("--reviewer=human", "--crab-jobs=0"), "ERROR: --crab-jobs is '0'; it should be a whole number from 1"),
        (
            ("--reviewer=human", "--crab-repeat=two"),
            "ERROR: --crab-repeat is 'two'; it should be a whole number from 1",
        ),
        (
            ("--reviewer=human", "--crab-fail-under=70"),
            "ERROR: --crab-fail-under is '70'; it should be a share such as 30% or 0.3",
        ),
        (("--reviewer=human", "--crab-fail-under=nan"), "ERROR: --crab-fail-under is 'nan'; *"),
        (
            ("--reviewer=human", "--crab-rerun=all"),
            "ERROR: --crab-rerun is 'all'; it should be answers, *",
        ),
        (
            ("--reviewer=human", "--crab-runtime=podman"),
            "ERROR: --crab-runtime is 'podman'; it should be auto, docker or local*",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(bare: Any, arguments: tuple[str, ...], sentence: str) -> None:
    result = bare.pytester.runpytest("instances", *arguments)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([sentence])
    result.stderr.no_fnmatch_line("*Traceback*")
    assert not bare.store.exists()


def test_a_setting_that_is_missing_is_told_with_its_place(bare: Any) -> None:
    result = bare.pytester.runpytest("instances", "--reviewer=single-shot")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(
        ["ERROR: --reviewer=single-shot: model is missing; give it in crab.yaml: *: {use: single-shot, model: *"]
    )
    bare.write({"crab.yaml": "reviewers: {mine: {use: single-shot}}\n"})
    result = bare.pytester.runpytest("instances", "--reviewer=mine")
    result.stderr.fnmatch_lines(["ERROR: crab.yaml: reviewers.mine: model is missing; *"])


def test_a_typo_is_held_against_the_names_of_crab_yaml_too(bare: Any) -> None:
    bare.write({"crab.yaml": "reviewers: {mine: {use: ruff}}\n"})
    result = bare.pytester.runpytest("instances", "--reviewer=mien")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(
        ["ERROR: --reviewer=mien: 'mien' is no reviewer (did you mean mine?); use one of *, mine, *"]
    )


def test_a_folder_without_instances_is_told(bare: Any) -> None:
    (bare.path / "empty").mkdir()
    result = bare.pytester.runpytest("empty", "--reviewer=human")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["crab: no instance was found*instance.yaml*pytest-crab quickstart*"])
    missing = bare.pytester.runpytest("missing", "--reviewer=human")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stdout.no_fnmatch_line("*no instance was found*")


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (kinds.RATE.read, "30%", 0.3),
        (kinds.RATE.read, "0.3", 0.3),
        (kinds.SHARE.read, "5%", 0.05),
        (kinds.MARGIN.read, "5pp", ("", 5.0)),
        (kinds.MARGIN.read, "security=10", ("security", 10.0)),
    ],
)
def test_shares_and_points_are_read_with_their_units(read: Any, text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"), [(kinds.RATE.read, "130%"), (kinds.RATE.read, "30"), (kinds.MARGIN.read, "5%")]
)
def test_other_units_are_refused(read: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text)


def test_bad_values_are_told_by_the_place_they_stand_in(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write({"pytest.ini": "[pytest]\ncrab_jobs = many\n"})
    monkeypatch.setenv("CRAB_PLAN", "perhaps")
    result = bare.pytester.runpytest("instances", "--reviewer=human")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*crab_jobs is 'many'; *", "*CRAB_PLAN is 'perhaps'; it should be true or false"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("reviewers: {strict: {use: nothing}}", "ERROR: *reviewers.strict: 'nothing' is no reviewer*"),
        (
            "reviewers: {strict: {use: mine}, mine: {use: ruff}}",
            "ERROR: *reviewers.strict: 'mine' is an entry of crab.yaml and no reviewer itself; use one of *",
        ),
        ("reviewers: {strict: {use: ruff, colour: red}}", "ERROR: *reviewers.strict: colour is not a known key*"),
        ("reviewers: [strict]", "ERROR: *crab.yaml: reviewers is no mapping*"),
        ("contestants: {}", "ERROR: *crab.yaml: contestants is not a known key*"),
        ("reviewers: {strict: {use: ruff", "ERROR: *crab.yaml: *"),
        (
            "gate: {jobs: 5}",
            "ERROR: crab.yaml: gate.jobs is not a known key; the keys here are *fail-under, baseline, *",
        ),
        ("gate: {margin: wide}", "ERROR: crab.yaml: gate.margin is 'wide'; it should be points from 0 to 100 *"),
        ("gate: {max-broken: [1%, 2%]}", "ERROR: crab.yaml: gate.max-broken is '1%', '2%'; it should be a share *"),
    ],
)
def test_bad_settings_are_a_usage_error(bare: Any, text: str, sentence: str) -> None:
    bare.write({"crab.yaml": text})
    result = bare.pytester.runpytest("instances", "--reviewer=strict")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([sentence])
    result.stderr.no_fnmatch_line("*Traceback*")


def test_the_gate_of_crab_yaml_holds_where_no_option_says_otherwise(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write(
        {
            "crab.yaml": "gate: {baseline: before, margin: [7, security=10], gate-looks: 2, fail-under: 30%}\n",
            "here/nothing.txt": "",
        }
    )
    monkeypatch.chdir(bare.path / "here")  # paths of crab.yaml start at its own folder
    options = read_options(bare.pytester.parseconfig("--rootdir", str(bare.path)), load_settings(bare.path))
    assert options.baselines == (bare.path / "before",)
    assert (options.margin, options.gate_looks, options.fail_under) == ((("", 7.0), ("security", 10.0)), 2, 0.3)
    monkeypatch.setenv("CRAB_GATE_LOOKS", "3")
    given = ("--rootdir", str(bare.path), "--crab-margin=2", "--crab-baseline=other")
    options = read_options(bare.pytester.parseconfig(*given), load_settings(bare.path))
    assert (options.margin, options.gate_looks, options.fail_under) == ((("", 2.0),), 3, 0.3)
    assert options.baselines == (bare.path / "here" / "other",)


def test_use_names_a_built_in_and_never_the_entry_of_that_name(bare: Any) -> None:
    bare.write({"crab.yaml": "reviewers: {ruff: {use: ruff, colour: red}, strict: {use: ruff, select: [F]}}"})
    assert "reviewers strict;" in header(bare, "--reviewer=strict")


def test_items_in_processes_of_their_own_are_refused(bare: Any) -> None:
    bare.write(
        {"conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--forked', action='store_true')\n"}
    )
    result = bare.run("--reviewer=human", "--forked", "instances")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["ERROR: --forked runs each item in a copy of this process, *leave it out*"])
    assert bare.run("--reviewer=human", "--forked", "--collect-only", "instances").ret == 0


def test_a_variant_is_known_by_its_own_name(bare: Any) -> None:
    result = bare.pytester.runpytest("instances", "--reviewer=strict", "--collect-only", "-q")
    assert [line for line in result.outlines if "::" in line] == [
        f"instances/{name}/instance.yaml::strict" for name in ("shop-1", "till-2")
    ]


def test_a_run_without_a_sandbox_says_so(lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    result = lab.spawn("instances", "--reviewer=human")
    line = "crab: runtime local (without a sandbox: bubblewrap (bwrap) is not installed); * at a time; store *"
    result.stdout.fnmatch_lines([line, "*2 of 2 pull requests fully caught*"])


def test_a_key_chooses_the_client_that_is_installed(bare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-geheim")
    monkeypatch.setenv("CRAB_CLIENTS", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    text = header(bare, "--reviewer=human")
    assert "agent simulated (privileged; the default, since claude-code is not installed; --agent" in text
    program = tmp_path / "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    program.chmod(0o755)
    text = header(bare, "--reviewer=human")
    assert "agent claude-code (the default, since ANTHROPIC_API_KEY is set; --agent names another)" in text
    assert "geheim" not in text


@pytest.mark.parametrize("place", ["sub", ".", "sub/sets", "sub/sets/instances"])
@pytest.mark.parametrize("named", ["sets/instances", "sets/instances/shop-1", "sets/instances/shop-1/instance.yaml"])
def test_crab_yaml_is_found_here_at_the_rootdir_and_beside_the_set(
    bare: Any, monkeypatch: pytest.MonkeyPatch, place: str, named: str
) -> None:
    (bare.path / "sub" / "sets").mkdir(parents=True)
    (bare.path / "instances").rename(bare.path / "sub" / "sets" / "instances")
    (bare.path / "pytest.ini").write_text("[pytest]\n")
    file = bare.path / place / "crab.yaml"
    (bare.path / "crab.yaml").rename(file)
    monkeypatch.chdir(bare.path / "sub")
    bare.run("--reviewer=strict", "--collect-only", "-q", named).stdout.fnmatch_lines(["*::strict"])
    result = bare.run("--reviewer=mien", "--collect-only", named)
    result.stderr.fnmatch_lines([f"ERROR: *'mien' is no reviewer*({file.resolve()} has no such entry)"])
    file.unlink()
    result = bare.run("--reviewer=strict", "--collect-only", named)
    told = result.stderr.str().partition("there is no crab.yaml in ")[2].partition(")")[0].split(" or ")
    assert {str(bare.path / each) for each in ("sub", ".", "sub/sets")} <= {*told}
