"""What the files of an instance must hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.instances import load_instance
from pytest_crab.instances.file_checks import content_faults

Write = Callable[..., Path]


def test_a_sound_instance_has_no_fault(write_instance: Write) -> None:
    assert list(content_faults(load_instance(write_instance()))) == []


@pytest.mark.parametrize(
    ("content", "telling"),
    [
        ("", "is empty"),
        ("not a diff\n", "is not a git diff"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,1 @@\n a\n", "is not a git diff"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "touches '../x'"),
        ("--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n", "touches '.git/config'"),
    ],
)
def test_diffs_are_diffs_and_stay_inside_the_tree(write_instance: Write, content: str, telling: str) -> None:
    path = write_instance()
    (path.parent / "head.diff").write_text(content)
    (problem,) = content_faults(load_instance(path))
    assert problem.startswith("source.tree.head (head.diff) ")
    assert telling in problem


@pytest.mark.parametrize("name", ["conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "x.pth"])
@pytest.mark.parametrize("level", [".", "oracles"])
def test_configuration_beside_an_instance_is_refused(write_instance: Write, name: str, level: str) -> None:
    path = write_instance()
    (path.parent / level / name).write_text("")
    (problem,) = content_faults(load_instance(path))
    assert name in problem


def test_an_empty_oracle_is_refused(write_instance: Write) -> None:
    path = write_instance()
    (path.parent / "oracles" / "test_c0.py").write_text("\n")
    (problem,) = content_faults(load_instance(path))
    assert "comments[0].oracle.file (oracles/test_c0.py) is empty" in problem


def test_an_oracle_that_is_no_utf8_is_refused(write_instance: Write) -> None:
    path = write_instance()
    with (path.parent / "oracles" / "test_c0.py").open("ab") as file:
        file.write(b"# caf\xe9\n")
    (problem,) = content_faults(load_instance(path))
    assert "comments[0].oracle.file (oracles/test_c0.py) is not UTF-8" in problem


def test_a_part_names_tests_that_the_oracle_has(write_instance: Write) -> None:
    parts = "[{asks: One, tests: [test_two]}, {asks: Two, tests: ['test_two[a]', 'TestThree::test_two']}]"
    path = write_instance("a", ("oracle: oracles/test_c0.py", f"oracle: {{file: oracles/test_c0.py, parts: {parts}}}"))
    (problem,) = content_faults(load_instance(path))
    assert "comments[0].oracle.parts[1].tests names TestThree::test_two" in problem
    assert "no TestThree in oracles/test_c0.py" in problem
