"""Oracles that start tests of the tree: with its conftest.py, with the patch's files, and by its own pytest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef price():\n    import shop\n\n    return shop.price(10)\n"
HELPER = "LIMIT = 90\n"
TEST = "from tests.helper import LIMIT\n\n\ndef test_edge(price):\n    assert price == LIMIT\n"
SKIPPED = "import pytest\n\n\n@pytest.mark.skip\ndef test_edge():\n    pass\n"


@pytest.fixture
def script(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("in_tree_oracle")


@pytest.mark.parametrize(
    ("price", "test", "outcome"),
    [
        ("90", TEST, "1 passed"),
        ("100", TEST, "1 failed"),
        ("90", "import missing\n" + TEST, "1 error"),
        ("90", TEST.replace("test_edge", "test_other"), "1 error"),
        ("90", SKIPPED, "1 skipped"),
    ],
)
def test_a_patch_runs_in_its_tree(script: Any, tmp_path: Path, price: str, test: str, outcome: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "shop.py").write_text(f"def price(count):\n    return {price}\n")
    (tree / "tests").mkdir()
    (tree / "tests" / "conftest.py").write_text(CONFTEST)
    files = {"tests/__init__.py": "", "tests/helper.py": HELPER, "tests/test_shop.py": test}
    oracle = tmp_path / "test_c0.py"
    oracle.write_text(script.in_tree_oracle(files, ["tests/test_shop.py::test_edge"]))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, oracle]
    done = subprocess.run(argv, cwd=tree, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1].startswith(outcome), done.stdout


UNITTEST = """import unittest

from shop import price


class Edge(unittest.TestCase):
    def test_edge(self):
        self.assertEqual(price(10), 90)

    def test_parts(self):
        for count in (1, 2):
            with self.subTest(count=count):
                self.assertEqual(price(count), 90)
"""
BROKEN_SETUP = """
    @classmethod
    def setUpClass(cls):
        raise ValueError("no shop")
"""
#: A class beside the other that is skipped as a whole.
NO_SHOP = """

class Closed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("there is no shop")

    def test_closed(self):
        pass
"""


@pytest.mark.parametrize(
    ("price", "test", "outcome"),
    [
        ("90", UNITTEST, "1 passed"),
        ("100", UNITTEST, "1 failed"),
        ("count // 0", UNITTEST, "1 failed"),
        ("90", "import missing\n" + UNITTEST, "1 error"),
        ("90", UNITTEST.replace("test_edge", "test_other"), "1 error"),
        ("90", UNITTEST + BROKEN_SETUP, "1 error"),
        ("90", UNITTEST.replace("class", '@unittest.skip("no")\nclass'), "1 skipped"),
        ("90", UNITTEST + NO_SHOP, "1 passed"),
        ("100", UNITTEST + NO_SHOP, "1 failed"),
        ("90", UNITTEST.replace("    def test_edge", "    @unittest.expectedFailure\n    def test_edge"), "1 failed"),
        ("100", UNITTEST.replace("    def test_", "    @unittest.expectedFailure\n    def test_"), "1 passed"),
    ],
)
def test_a_project_may_have_its_own_command(script: Any, tmp_path: Path, price: str, test: str, outcome: str) -> None:
    tree = tmp_path / "tree"
    (tree / "tests" / "shop_tests").mkdir(parents=True)
    (tree / "shop.py").write_text(f"def price(count):\n    return {price}\n")
    (tree / "tests" / "run.py").write_text("import sys, unittest\nunittest.main(None, argv=sys.argv)\n")
    command = script.UnittestCommand("tests", ("run.py",))
    names = [command.name_of("tests/shop_tests/test_shop.py", f"Edge.{name}") for name in ("test_edge", "test_parts")]
    assert names == ["shop_tests.test_shop.Edge.test_edge", "shop_tests.test_shop.Edge.test_parts"]
    if NO_SHOP in test:
        names.append(command.name_of("tests/shop_tests/test_shop.py", "Closed.test_closed"))
    oracle = tmp_path / "test_c0.py"
    files = {"tests/shop_tests/__init__.py": "", "tests/shop_tests/test_shop.py": test}
    oracle.write_text(script.in_tree_oracle(files, names, command))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, oracle]
    done = subprocess.run(argv, cwd=tree, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1].startswith(outcome), done.stdout
