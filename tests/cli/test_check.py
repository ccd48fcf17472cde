"""The check command, from end to end."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import COMMANDS, main

INSTANCE = """\
schema: 1
id: {id}
provenance: authored
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  {source}
environment:
  dockerfile: python
  packages: [pytest==8.3.4]
comments:
  - id: c0
    path: shop.py
    lines: [1, 2]
    body: This should say two.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
    reference: reference.diff
"""
TREE = "tree: {path: ../projects/shop, head: head.diff, reference: reference.diff}"
CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n one\n-{}\n+{}\n"


def write(name: str, source: str = TREE) -> Path:
    folder = Path("set", name)
    (folder / "oracles").mkdir(parents=True)
    (folder / "oracles" / "test_c0.py").write_text("def test_two() -> None:\n    assert True\n")
    (folder / "head.diff").write_text(CHANGE.format("two", "too"))
    (folder / "reference.diff").write_text(CHANGE.format("too", "two"))
    (folder / "instance.yaml").write_text(INSTANCE.format(id=name, source=source))
    project = Path("set", "projects", "shop")
    project.mkdir(parents=True, exist_ok=True)
    (project / "shop.py").write_text("one\ntwo\n")
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["set", "check", *arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_sound_instances_are_ok_and_nothing_is_left_behind() -> None:
    write("a")
    write("b")
    result = run("set")
    assert (result.output, result.exit_code) == ("2 of 2 instances ok, 0 faults\n", 0)
    assert [path.name for path in Path().iterdir()] == ["set"]


@pytest.mark.parametrize(
    ("oracle", "telling"),
    [
        ("def two() -> None:\n    assert True\n", "has no test that can be told here"),
        ("def test_two(:\n", "cannot be read: "),
    ],
)
def test_an_oracle_without_a_test_is_a_warning(oracle: str, telling: str) -> None:
    folder = write("a")
    (folder / "oracles" / "test_c0.py").write_text(oracle)
    result = run("set")
    assert f"a/instance.yaml: warning: the oracle of c0 (oracles/test_c0.py) {telling}" in result.output
    assert result.output.endswith("1 of 1 instance ok, 0 faults, 1 warning\n")
    assert result.exit_code == 0


def test_a_comment_without_its_reference_is_a_warning() -> None:
    path = write("a") / "instance.yaml"
    path.write_text(path.read_text().replace("    reference: reference.diff\n", ""))
    result = run("set")
    assert "set: warning: there is no reference, the diff that resolves a comment alone, for a c0: " in result.output
    assert result.exit_code == 0


def test_a_tree_that_cannot_be_read_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a")
    assert run("set", "--lock").exit_code == 0
    scandir = os.scandir

    def closed(place: Any) -> Any:
        if not isinstance(place, int) and Path(place).name == "closed":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        return scandir(place)

    Path("set", "projects", "shop", "closed").mkdir()
    monkeypatch.setattr(os, "scandir", closed)
    result = run("set")
    assert result.exit_code == 1
    assert "a: a file of ../projects/shop cannot be read (Permission denied)" in result.output
    assert "a file of source.tree.path, ../projects/shop, cannot be read (Permission denied)" in result.output


def test_faults_are_one_line_each_and_exit_1() -> None:
    first = write("a") / "instance.yaml"
    first.write_text(first.read_text().replace("pytest==8.3.4", "pytest").replace("schema: 1", "schema: 1\nx: y"))
    second = write("b")
    (second / "conftest.py").write_text("")
    (second / "reference.diff").write_text("nonsense\n")
    third = write("c")
    (third / "head.diff").write_text(CHANGE.format("2", "too"))
    write("d")
    result = run("set")
    lines = result.output.splitlines()
    assert [line.split(": ")[0] for line in lines[:-1]] == [
        *["set/a/instance.yaml"] * 2,
        *["set/b/instance.yaml"] * 3,
        "set/c/instance.yaml",
    ]
    assert "environment.packages[0] is 'pytest'; it should be pinned" in result.output
    assert "set/b/instance.yaml: conftest.py is configuration" in result.output
    assert "c: head.diff does not apply (error: patch failed: shop.py:1)" in lines[-2]
    assert lines[-1] == "1 of 4 instances ok, 6 faults"
    assert result.exit_code == 1


def test_comments_are_held_against_the_trees() -> None:
    path = write("a") / "instance.yaml"
    path.write_text(path.read_text().replace("lines: [1, 2]", "lines: [1, 3]"))
    result = run("set")
    assert "set/a/instance.yaml: comments[0].lines are [1, 3], and shop.py has 2 lines at head" in result.output
    assert result.exit_code == 1


def test_a_warning_is_no_fault() -> None:
    folder = write("a")
    Path("set/projects/shop/other.py").write_text("1\n2\n")
    path = folder / "instance.yaml"
    path.write_text(path.read_text().replace("path: shop.py", "path: other.py"))
    result = run("set")
    assert result.output.splitlines() == [
        "set/a/instance.yaml: warning: comments[0].path (other.py) is not in the pull request's diff",
        "1 of 1 instance ok, 0 faults, 1 warning",
    ]
    assert result.exit_code == 0


def test_an_oracle_that_only_starts_the_project_is_named() -> None:
    oracle = write("a") / "oracles" / "test_c0.py"
    oracle.write_text("import subprocess, sys\ndef test_x():\n    subprocess.run([sys.executable, '-m', 'shop'])\n")
    result = run("set")
    assert "set/a/instance.yaml: warning: the oracle of c0 only starts the project" in result.output
    assert result.exit_code == 0
    oracle.write_text(f"import shop\n{oracle.read_text()}")
    assert "warning" not in run("set").output


def test_what_an_oracle_takes_from_elsewhere_is_named() -> None:
    oracle = write("a") / "oracles" / "test_c0.py"
    oracle.write_text("from tests.helpers import shop\ndef test_x(client):\n    assert shop\n")
    output = run("set").output
    assert "warning: the oracle of c0 asks for the fixture client" in output
    assert "warning: the oracle of c0 imports tests.helpers" in output


def test_what_a_pytest_would_run_of_a_set_is_a_warning() -> None:
    write("a")
    for name in ("conftest.py", "testing/conftest.py", "docs/conftest.py"):
        Path("set", name).parent.mkdir(exist_ok=True)
        Path("set", name).write_text("")
    assert run("set").output.splitlines() == [
        "set/conftest.py: warning: a pytest that is given this set runs or reads it",
        "set/testing/conftest.py: warning: a pytest that is given this set runs or reads it",
        "1 of 1 instance ok, 0 faults, 2 warnings",
    ]


def test_ids_are_unique_without_regard_to_case_over_all_paths() -> None:
    write("a")
    Path("set").rename("other")
    write("A")
    result = run("set", "other")
    assert "id a in " in result.output
    assert result.exit_code == 1


SDIST = "sdist: {name: no-such-package, version: '1', sha256: %s, head: head.diff, reference: reference.diff}" % (
    "0" * 64
)


def test_what_could_not_be_checked_is_said() -> None:
    write("a", SDIST)
    result = run("set")
    assert "set/a/instance.yaml: not checked: diffs and lines, since the source is not on this machine" in result.output
    assert result.output.endswith("1 of 1 instance ok, 0 faults, 1 not checked in full\n")
    assert result.exit_code == 0


def test_fetch_says_what_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    folder = write("a", SDIST)
    result = run("set", "--fetch")
    unreachable = "not checked: diffs and lines: a: the sdist of no-such-package 1 cannot be reached"
    assert unreachable in result.output
    assert result.exit_code == 0
    (folder / "check.diff").write_text(CHANGE.format("too", "2"))
    with (folder / "instance.yaml").open("a") as file:
        file.write("    accepts: [check.diff]\n    rejects: [check.diff]\n")
    assert "--fetch brings it" in run("set").output
    assert unreachable in run("set", "--audit").output


def test_a_set_is_locked_and_held_to_it() -> None:
    folder = write("a")
    write("b")
    assert run("set", "--lock").output == "set/crab.lock: written\n2 of 2 instances ok, 0 faults\n"
    locked = Path("set/crab.lock").read_bytes()
    assert run("set").exit_code == run("set/a").exit_code == 0
    with (folder / "oracles" / "test_c0.py").open("a") as file:
        file.write("# weaker\n")
    result = run("set/a")
    assert result.output.startswith("set/crab.lock: a differs in oracles/test_c0.py; if that is meant, run pytest-crab")
    assert result.exit_code == 1
    assert run("set/b").exit_code == 0
    assert run("set", "--lock").exit_code == 0
    assert Path("set/crab.lock").read_bytes() != locked
    assert run("set").exit_code == 0


def test_a_faulty_or_partial_set_is_not_locked() -> None:
    folder = write("a")
    write("b")
    assert "not written, since only a part of the set was named" in run("set/b", "--lock").output
    (folder / "tox.ini").write_text("")
    result = run("set", "--lock")
    assert result.exit_code == 1
    assert "not written" in result.output
    assert not Path("set/crab.lock").exists()


OTHERS = [
    *("testing", "robustness", "compatibility", "documentation", "design"),
    *("error-handling", "maintainability", "efficiency", "security"),
]


def test_a_set_is_counted() -> None:
    for name, day in (("a", "2023-05-01"), ("b", "2024-06-30"), ("c", None)):
        path = write(name) / "instance.yaml"
        text = path.read_text().replace("kind: behavioral", "kind: behavioral\n    accepts: [reference.diff]")
        path.write_text(text.replace("Add a cart", f"Add a cart, merged_at: {day}") if day else text)
    lines = run("set", "--stats").output.splitlines()
    assert lines[:2] == [
        "3 instances of 1 repository, 3 oracles",
        f"oracles by category: functional 3, {', '.join(f'{name} 0' for name in OTHERS)}",
    ]
    assert lines[8:] == [
        "instances by changed lines: up to 20 3",
        "instances by year of merge: 2023 1, 2024 1, no date 1",
        "merged from 2023-05-01 to 2024-06-30",
        "accepts for an oracle: 1.0 on average, 1 to 1; 3 of 3 have fewer than 2",
        "rejects for an oracle: 0.0 on average, 0 to 0; 3 of 3 have fewer than 2",
        "3 of 3 instances ok, 0 faults",
    ]
    since = run("set", "--stats", "--since", "2024-06").output.splitlines()
    assert since[0] == "left out of 3 instances: 1 merged before 2024-06-01, 1 without a date"
    assert since[1] == "1 instance of 1 repository, 1 oracle"
    assert run("set", "--since", "2024-06-31").exit_code == 2
    assert "--since takes a part of one" in run("set", "--since", "2024-06", "--lock").output


@pytest.mark.parametrize("arguments", [[], ["nowhere"], ["."], ["--unknown", "."]])
def test_usage_faults_exit_2(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.output


def test_help_imports_no_command() -> None:
    script = (
        "import sys, pytest_crab.cli as cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: print([name for name in sys.modules if name.startswith(('pytest_crab.', 'yaml'))])"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    small = [f"pytest_crab.{name}" for name in ("systems", "errors", "garbage", "registry", "cli.lazy_group", "cli")]
    assert output.splitlines()[-1] == str(small)
    assert all(f"  {name}" in output for name in COMMANDS)


def test_every_command_in_the_table_is_there() -> None:
    for name in COMMANDS:
        assert "--help" in CliRunner().invoke(main, [name, "--help"], catch_exceptions=False).output


def test_the_program_runs() -> None:
    write("a")
    argv = [sys.executable, "-c", "from pytest_crab.cli import main; main()", "set", "check", "set"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("1 of 1 instance ok, 0 faults\n", "", 0)
