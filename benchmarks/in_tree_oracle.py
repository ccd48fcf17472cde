"""Oracles that start tests of the tree, where they have their conftest.py and the files beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


@pytest.fixture
def outcomes():
    for name, text in FILES.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    env = dict(os.environ)
    env.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    report = Path(tempfile.mkdtemp(), "report.xml")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=%s" % report, *TESTS]
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    cases = list(ElementTree.parse(str(report)).iter("testcase")) if report.exists() else []
    found = [{child.tag for child in case} & {"error", "failure", "skipped"} for case in cases]
    if not found or any("error" in tags for tags in found):
        raise RuntimeError(done.stdout[-2000:])
    return found


def test_in_tree(outcomes):
    if all("skipped" in tags for tags in outcomes):
        pytest.skip("all are skipped")
    assert not any("failure" in tags for tags in outcomes)
'''


def in_tree_oracle(files: Mapping[str, str], tests: Sequence[str]) -> str:
    """Return an oracle that puts ``files`` into the tree and runs these tests there, by pytest's node ids.

    It is red if one fails. An error outside of a test, such as while a file is loaded, is an error of the oracle too.
    """
    return TEXT.replace("<FILES>", repr(dict(files))).replace("<TESTS>", repr(list(tests)))
