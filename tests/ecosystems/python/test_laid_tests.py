"""Oracles that lay tests of a project over its tree, run as they are written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_crab.ecosystems.python.laid_tests import laid_tests

TESTS = {
    "tests/test_a.py": "import shop\n\n\ndef test_one():\n    assert shop.one == 1\n",
    "tests/test_b.py": "import shop\n\n\ndef test_two():\n    assert shop.two == 2\n",
}
CHANGES_THEM = """
import os
with open("tests/test_b.py", "w") as file:
    file.write("def test_two(): pass\\n")
"""
REMOVES_THEM = """
import os
os.remove("tests/test_a.py")
"""


@pytest.mark.parametrize(
    ("more", "telling"),
    [("", "2 passed"), (CHANGES_THEM, "ChangedTests"), (REMOVES_THEM, "ChangedTests")],
    ids=["as they are", "changed", "removed"],
)
def test_tests_that_the_project_changes_do_not_count(more: str, telling: str, tmp_path: Path) -> None:
    """What is changed is deceived without that: the project has no two that is 2, and the test that says so passes."""
    (tmp_path / "shop.py").write_text(f"one = 1\ntwo = {2 if not more else 3}\n{more}")
    (tmp_path / "test_oracle.py").write_text(laid_tests(TESTS, ["tests.test_a::test_one", "tests.test_b::test_two"]))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        f"--rootdir={tmp_path}",
        "test_oracle.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert telling in done.stdout, done.stdout
    assert (done.returncode == 0) is (not more)
