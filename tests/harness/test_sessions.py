"""What one oracle's session reports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_crab.protocols import InstallResult
from pytest_crab.types import Ending

if TYPE_CHECKING:
    from conftest import Bench

EVERY_OUTCOME = """
import unittest
import pytest
import ledger
def test_passed():
    assert ledger.add(1, 2) == 3
def test_failed():
    assert ledger.add(1, 2) == 4
@pytest.mark.parametrize("a", [1, "b"])
def test_each(a):
    pass
class TestClass:
    def test_method(self, tmpdir, capsys):
        print("text")
        assert capsys.readouterr()[0] == "text\\n"
class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(ledger.add(1, 1), 2)
    @unittest.skip("never")
    def test_never(self):
        pass
def test_skipped():
    pytest.skip("here")
@pytest.mark.xfail
def test_xfailed():
    assert False
@pytest.mark.xfail
def test_xpassed():
    pass
@pytest.fixture
def broken():
    raise KeyError("secret")
def test_error(broken):
    pass
@pytest.fixture
def late():
    yield
    raise LookupError("secret")
def test_late(late):
    pass
"""

OUTCOMES = {
    "test_passed": "passed",
    "test_failed": "failed",
    "test_each[1]": "passed",
    "test_each[b]": "passed",
    "TestClass::test_method": "passed",
    "TestUnit::test_unit": "passed",
    "TestUnit::test_never": "skipped",
    "test_skipped": "skipped",
    "test_xfailed": "xfailed",
    "test_xpassed": "xpassed",
    "test_error": "error",
    "test_late": "error",
}


def test_every_outcome_is_told_by_its_name(bench: Bench) -> None:
    run = bench.run(EVERY_OUTCOME)
    assert {test.id: test.outcome for test in run.tests} == {
        f"test_c0.py::{name}": outcome for name, outcome in OUTCOMES.items()
    }
    assert (run.ending, run.exit_code, run.tripwire, run.altered) == (Ending.COMPLETED, 1, True, ())


def test_every_outcome_is_the_same_on_other_interpreters(bench: Bench, interpreter: SimpleNamespace) -> None:
    bench.python, bench.site = interpreter.python, interpreter.site
    run = bench.run(EVERY_OUTCOME)
    assert {test.id: test.outcome for test in run.tests} == {
        f"test_c0.py::{name}": outcome for name, outcome in OUTCOMES.items()
    }
    assert (run.ending, run.exit_code, run.tripwire, run.altered) == (Ending.COMPLETED, 1, True, ())


def test_a_green_oracle_still_ends_with_its_tripwires_failing(bench: Bench) -> None:
    run = bench.run("import ledger\ndef test_add():\n    assert ledger.add(1, 2) == 3\n")
    assert [test.outcome for test in run.tests] == ["passed"]
    assert (run.ending, run.exit_code, run.tripwire) == (Ending.COMPLETED, 1, True)


def test_an_exception_is_told_by_its_type_and_the_line_of_the_tree(bench: Bench) -> None:
    source = "import deep\ndef test_it():\n    secret = 7\n    deep.go(secret)\ndef test_end():\n    raise deep.Ends\n"
    ends = (
        "import os\nclass Ends(Exception):\n    def __str__(self):\n        os._exit(1)\n"  # which is never asked for
    )
    run = bench.run(source, deep=f"def go(value):\n    return [][value]\n{ends}")
    told = [(test.id.partition("::")[2], test.exception, test.where) for test in run.tests]
    assert told == [("test_it", "IndexError", "deep.py:2"), ("test_end", "Ends", None)]


def test_nothing_of_the_oracles_source_or_messages_is_told(bench: Bench) -> None:
    job = bench.job([bench.oracle("def test_it():\n    assert 'very-secret' == 'other-secret'\n")], {})
    import subprocess

    from pytest_crab import harness

    command = harness.commands(job)[0]
    done = subprocess.run(list(command.argv), input=command.stdin, capture_output=True, check=True)
    assert b"secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("source", "outcome", "exception"),
    [
        ("import no_such_module\n", "error", "ModuleNotFoundError"),
        ("def test_it(:\n", "error", "SyntaxError"),
        ("import pytest\npytest.importorskip('no_such_module')\n", "skipped", None),
        ("import unittest\nraise unittest.SkipTest('x')\n", "skipped", None),
    ],
)
def test_a_file_that_cannot_be_collected_is_one_outcome(
    bench: Bench, source: str, outcome: str, exception: str | None
) -> None:
    run = bench.run(source)
    assert [(test.id, test.outcome, test.exception) for test in run.tests] == [("test_c0.py", outcome, exception)]
    assert run.tripwire is True


def test_the_checkout_wins_over_an_installed_copy_and_over_pytests_own(bench: Bench) -> None:
    source = (
        "import pluggy, iniconfig\ndef test_it():\n    assert iniconfig.MINE\n    assert not hasattr(pluggy, 'MINE')\n"
    )
    run = bench.run(source, iniconfig="MINE = True\n", pluggy="MINE = True\n")
    assert [test.outcome for test in run.tests] == ["passed"]


def test_commands_of_an_oracle_can_import_the_project(bench: Bench) -> None:
    bench.paths = ("src",)
    bench.write("src/inner.py", "print('imported')")
    source = (
        "import os, subprocess, sys\n"
        "def test_it():\n"
        "    assert subprocess.check_output([sys.executable, '-c', 'import inner']) == b'imported\\n'\n"
        "    assert os.path.exists('ledger.py') and os.environ['PLACE'] == 'here'\n"
    )
    bench.env = {"PLACE": "here", "PYTEST_ADDOPTS": "--collect-only"}
    assert [test.outcome for test in bench.run(source).tests] == ["passed"]


def test_metadata_of_a_reinstalled_project_comes_before_the_environments(bench: Bench) -> None:
    info = "Metadata-Version: 2.1\nName: pytest\nVersion: 99.0\n"
    bench.installs = {"head": InstallResult(metadata={"pytest-99.0.dist-info/METADATA": info})}
    source = "from importlib.metadata import version\ndef test_it():\n    assert version('pytest') == '99.0'\n"
    assert [test.outcome for test in bench.run(source).tests] == ["passed"]


def test_only_listed_plugins_are_there(bench: Bench) -> None:
    source = "def test_it(request):\n    assert request.config.pluginmanager.hasplugin('xdist')\n"
    with_it, without = (bench.oracle(source, name=name, plugins=plugins) for name, plugins in
                        (("with", ("xdist",)), ("without", ())))  # fmt: skip
    runs = bench.report([with_it, without]).runs
    assert [run.tests[0].outcome for run in runs] == ["failed", "failed"]  # registered under its module's name
    source = source.replace("'xdist'", "'xdist.plugin'")
    with_it, without = (bench.oracle(source, name=name, plugins=plugins) for name, plugins in
                        (("with", ("xdist",)), ("without", ())))  # fmt: skip
    runs = bench.report([with_it, without]).runs
    assert [run.tests[0].outcome for run in runs] == ["passed", "failed"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("import builtins\nbuiltins.sum = lambda things: 0\n", "builtins.sum"),
        ("import unittest.case as c\nc.TestCase.assertEqual = lambda *a: None\n", "unittest.case.TestCase.assertEqual"),
        ("import _pytest.python as p\np.Function.runtest = lambda self: None\n", "_pytest.python.Function.runtest"),
        (
            "import _pytest.python as p\np.Function.runtest.__code__ = (lambda self: None).__code__\n",
            "_pytest.python.Function.runtest",
        ),
        ("import pytest\npytest.raises = None\n", "pytest.raises"),
        ("import os\nos._exit = print\n", "os._exit"),
    ],
)
def test_what_the_project_replaces_is_told(bench: Bench, text: str, label: str) -> None:
    run = bench.run("import bad\ndef test_it():\n    pass\n", bad=text)
    assert label in run.altered


def test_a_replaced_test_function_is_told(bench: Bench) -> None:
    bad = "import gc, types\ndef fool():\n    import sys\n    sys.modules['test_c0'].test_it.__code__ = (lambda: 0).__code__\n"  # noqa: E501 - code in a text
    run = bench.run("import bad\ndef test_it():\n    assert False\ndef test_first():\n    bad.fool()\n", bad=bad)
    assert run.altered == ()  # the order of the file: it ran before it was replaced
    run = bench.run("import bad\ndef test_first():\n    bad.fool()\ndef test_it():\n    assert False\n")
    assert "oracle:test_c0.py::test_it" in run.altered


def test_what_tests_patch_and_put_back_is_not_told(bench: Bench) -> None:
    source = "import os\nfrom unittest import mock\ndef test_it():\n    with mock.patch('os.read'):\n        pass\n"
    assert bench.run(source).altered == ()
