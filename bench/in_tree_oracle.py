"""Oracles that start tests of the tree, where they have their conftest.py and the files beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Works from CPython 3.6 up. What a test of the tree prints is the message of the error where none has an outcome.
TEXT = '''\
"""Tests of the tree, with the files of a patch put in place, run by the tree's own configuration."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

FILES = <FILES>
TESTS = <TESTS>


def start(*words, **settings):
    env = dict(os.environ, **settings.pop("env", {}))
    env.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "universal_newlines": True}
    return subprocess.run([sys.executable, *words, *TESTS], env=env, **out, **settings).stdout


<RUN>


@pytest.fixture
def outcomes():
    for name, text in FILES.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found, printed = run()
    if not found or any("error" in tags for tags in found):
        raise RuntimeError(printed[-2000:])
    return found


def test_in_tree(outcomes):
    if all("skipped" in tags for tags in outcomes):
        pytest.skip("all are skipped")
    assert not any("failure" in tags for tags in outcomes)
'''

_PYTEST = '''\
def run():
    """Return for each test that ran what is said of it, and all that was printed."""
    report = Path(tempfile.mkdtemp(), "report.xml")
    printed = start("-m", "pytest", "-p", "no:cacheprovider", "--junitxml=%s" % report)
    cases = list(ElementTree.parse(str(report)).iter("testcase")) if report.exists() else []
    return [{child.tag for child in case} & {"error", "failure", "skipped"} for case in cases], printed
'''

_UNITTEST = """\
#: Starts a command and writes a line for the result of each test; what unittest prints does not tell them all.
PROGRAM = \"\"\"\
import os, runpy, sys, unittest
report, sys.argv = sys.argv[1], sys.argv[2:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))

def note_results(name, tag):
    real = getattr(unittest.TestResult, name)
    def note(self, test, *rest):
        said = tag(test, *rest)
        if said:
            with open(report, "a") as file:
                file.write(said + os.linesep)
        return real(self, test, *rest)
    setattr(unittest.TestResult, name, note)

def of_error(test, error):
    return "error" if type(test).__name__ in ("_ErrorHolder", "_FailedTest") else "failure"

note_results("addSuccess", lambda test: "passed")
note_results("addFailure", lambda test, error: "failure")
note_results("addError", of_error)
note_results("addSkip", lambda test, reason: "skipped")
note_results("addExpectedFailure", lambda test, error: "passed")
note_results("addUnexpectedSuccess", lambda test: "failure")
note_results("addSubTest", lambda test, part, error: error and "failure")
runpy.run_path(sys.argv[0], run_name="__main__")
\"\"\"


def run():
    \"\"\"Return for each test that ran what is said of it, and all that was printed.\"\"\"
    report = Path(tempfile.mkdtemp(), "report")
    printed = start("-c", PROGRAM, str(report), *<WORDS>, cwd=<FOLDER>, env={"PYTHONPATH": os.getcwd()})
    return [{line} for line in report.read_text().split()] if report.exists() else [], printed
"""


@dataclass(frozen=True)
class UnittestCommand:
    """A project's own command for tests of unittest: a script with its arguments, and the folder it is started in.

    Names of tests begin below that folder; the tree itself is on the import path.
    """

    folder: str
    words: tuple[str, ...]

    def name_of(self, path: str, test: str) -> str:
        """Return the dotted name of a test, a method as Class.name, of a file of the tree."""
        return f"{path.removeprefix(f'{self.folder}/').removesuffix('.py').replace('/', '.')}.{test}"


def node_id(path: str, test: str) -> str:
    """Return pytest's node id of a test, a method as Class.name, of a file of the tree."""
    return f"{path}::{test.replace('.', '::')}"


def in_tree_oracle(files: Mapping[str, str], tests: Sequence[str], command: UnittestCommand | None = None) -> str:
    """Return an oracle that puts ``files`` into the tree and runs these tests there, by pytest's node ids.

    With a ``command`` that runs them, by their dotted names. It is red if one fails. An error outside of a test, such
    as while a file is loaded, is an error of the oracle too.
    """
    run = _PYTEST
    if command is not None:
        run = _UNITTEST.replace("<WORDS>", repr(command.words)).replace("<FOLDER>", repr(command.folder))
    text = TEXT.replace("<RUN>", run.strip())
    return text.replace("<FILES>", repr(dict(files))).replace("<TESTS>", repr(list(tests)))
