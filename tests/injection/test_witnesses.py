"""Tests of a project as an oracle, run in its tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    assert by_file([name], [path]) == {path: ["TestShop::test_one"]}
