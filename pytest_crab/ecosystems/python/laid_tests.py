"""An oracle that lays tests of a project over its tree, and runs them by pytest in a process of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from pytest_crab.text import whole_lines

_ORACLE = '''\
"""Tests of the project that see the fault, run in its tree: red with the fault, green without it."""

import os
import re
import subprocess
import sys
import tempfile
import zlib
from xml.etree import ElementTree

import pytest

# Laid over the tree before they run, by path.
FILES = {{}}
{files}
TESTS = {tests}


class NoReportWritten(Exception):
    pass


class NoTestRan(Exception):
    pass


class ChangedTests(Exception):
    pass


def run():
    for path, text in FILES.items():
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
        if tuple(map(int, pytest.__version__.split(".")[:2])) >= (3, 5):  # older ones know no such option
            command += ["--rootdir=" + os.getcwd()]  # names count from here wherever the settings lie
        command += ["--junitxml=" + report]
        command += [path for path in FILES if os.path.basename(path) != "conftest.py"]
        environ = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
        environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)  # the project's tests may need the environment's plugins
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ)
        for path, text in FILES.items():
            if not os.path.isfile(path) or open(path, "rb").read() != text.encode("utf-8"):
                raise ChangedTests()  # the project's code wrote other tests
        if not os.path.exists(report):
            raise NoReportWritten()
        return {{name_of(case): state_of(case) for case in ElementTree.parse(report).iter("testcase")}}


def name_of(case):
    return re.sub(r"[^A-Za-z0-9_.:,=\\[\\]-]", "_", case.get("classname", "") + "::" + case.get("name", ""))


def state_of(case):
    for state in ("error", "failure"):
        found = case.find(state)
        if found is not None:
            return state + ": " + (found.get("message") or "").split("\\n")[0][:200]
    return "skipped" if case.find("skipped") is not None else "passed"


OUTCOMES = run()
if TESTS is not None and OUTCOMES.keys().isdisjoint(TESTS):
    raise NoTestRan()  # which is no failure of a test: the tree cannot be imported or built


def kind_of(state):
    kind = re.match(r"(?:error|failure): (?:\\w+\\.)*(\\w+): ", state)
    kind = kind.group(1) if kind else "AssertionError"
    if TESTS is None:  # two failures of one test are told apart by this name
        kind += "_%08x" % zlib.crc32(re.sub("0x[0-9a-f]+", "", state).encode())
    return kind


@pytest.mark.parametrize("name", TESTS if TESTS is not None else sorted(OUTCOMES))
def test_of_the_project(name):
    state = OUTCOMES.get(name, "it did not run")
    if state != "passed":
        raise type(kind_of(state), (AssertionError,), {{}})(state)
'''


def laid_tests(texts: Mapping[str, str], tests: Collection[str] | None) -> str:
    """Return the oracle's text; ``tests`` are as in a report of JUnit, ``tests.test_a.TestB::test_c``."""
    files = "".join(f"FILES[{json.dumps(path)}] = {_literal(text)}\n" for path, text in sorted(texts.items()))
    return _ORACLE.format(files=files, tests=_listed(tests))


def _listed(tests: Collection[str] | None) -> str:
    if tests is None:
        return "None"
    return "[\n" + "".join(f"    {json.dumps(name)},\n" for name in sorted(tests)) + "]"


def _literal(text: str) -> str:
    """Return a text as a literal that a person can read."""
    if "'''" in text or "\\" in text or text.endswith("'") or not text.isascii():
        return "(\n" + "".join(f"    {line!a}\n" for line in whole_lines(text)) + ")"
    return f"'''\\\n{text}'''"


def is_told(run_id: str, path: str, name: str) -> bool:
    """Return whether a test of such a report is the function ``TestB::test_c`` of a file."""
    *classes, function = name.split("::")
    place, _, told = run_id.partition("::")
    return place == ".".join([_module_of(path), *classes]) and told.partition("[")[0] == function


@functools.cache
def _module_of(path: str) -> str:
    return ".".join(PurePosixPath(path).with_suffix("").parts)
