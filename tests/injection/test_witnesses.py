"""Tests of a project as an oracle, run in its tree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_crab.injection.witnesses import by_file, oracle_text


def test_names_count_from_the_root_where_the_settings_lie_below_it(tmp_path: Path) -> None:
    path, text = "tests/test_shop.py", "class TestShop:\n    def test_one(self):\n        pass\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "pytest.ini").write_text("[pytest]\n")
    name = "tests.test_shop.TestShop::test_one"
    (tmp_path / "test_oracle.py").write_text(oracle_text({path: text}, [name]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_oracle.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert by_file([name], {path: text}) == {path: ["TestShop::test_one"]}


def test_where_nothing_can_be_imported_no_test_fails(tmp_path: Path) -> None:
    text = "import absent\n\n\ndef test_one():\n    pass\n"
    (tmp_path / "test_oracle.py").write_text(oracle_text({"tests/test_shop.py": text}, ["tests.test_shop::test_one"]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_oracle.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "NoTestRan" in done.stdout
    assert re.search(r"^1 error in ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("named", [True, False], ids=["an oracle", "witnesses"])
def test_a_failure_is_called_after_the_projects_own_and_witnesses_tell_two_of_them_apart(
    tmp_path: Path, *, named: bool
) -> None:
    (tmp_path / "tests").mkdir()
    names = ["tests.test_shop::test_a", "tests.test_shop::test_b", "tests.test_shop::test_c"]
    text = "def test_a():\n    {}['x']\n\n\ndef test_b():\n    {}['y']\n\n\ndef test_c():\n    assert 1 == 2\n"
    (tmp_path / "test_oracle.py").write_text(oracle_text({"tests/test_shop.py": text}, names if named else None))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", "test_oracle.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = re.findall(r"^E +test_oracle\.(\w+): fail", done.stdout, re.MULTILINE)
    kinds = [kind.partition("_")[0] for kind in found]
    assert kinds == ["KeyError", "KeyError", "AssertionError"]
    assert len(set(found)) == (2 if named else 3)
