"""Witnesses: tests of a project that may see a fault, run in its own tree, as an oracle's file.

They are laid over the tree that they judge, and run there with the project's own settings: by pytest in a process of
its own, with the conftest files that they were written with, so that each of them is one test of the oracle; in other
languages by the runner of the project's own tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from pytest_crab import ecosystems
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.injection import code_parts, excerpts
from pytest_crab.instances import own_tests
from pytest_crab.types import Oracle

#: The name of the oracle's one test function; what it is run with is a test of the project.
FUNCTION = "test_of_the_project"

_TEMPLATE = '''\
"""{about}"""

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


def run():
    for path, text in FILES.items():
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    root = "--rootdir=" + os.getcwd()  # names count from here wherever the settings lie
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", root]
        command += ["--junitxml=" + report]
        command += [path for path in FILES if os.path.basename(path) != "conftest.py"]
        environ = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
        environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)  # the project's tests may need the environment's plugins
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ)
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

_ABOUT = "Tests of the project that see the fault, run in its tree: red with the fault, green without it."
_RUN = re.compile(rf"{FUNCTION}\[(.*)\]", re.DOTALL)


def owner_of(texts: Collection[str]) -> Ecosystem:
    """Return the ecosystem whose runner takes files of tests, which are all of one language, by their paths."""
    return next(filter(None, map(ecosystems.of_file, sorted(texts))), ecosystems.DEFAULT)


def oracle_of(texts: Mapping[str, str], stem: str) -> Oracle:
    """Return the oracle whose text ``oracle_text`` is; ``stem`` is the path of its file without the end."""
    owner = owner_of(texts)
    if owner.tests_runner is None:
        return Oracle(file=f"{stem}{ecosystems.DEFAULT_SUFFIX}")
    return Oracle(file=f"{stem}{owner.runners[owner.tests_runner].words}", runner=owner.tests_runner)


def oracle_text(texts: Mapping[str, str], tests: Collection[str] | None) -> str:
    """Return the oracle that lays files over a tree and runs these tests of theirs; None: all that there are.

    Raises ValueError.
    """
    if owner_of(texts) is not ecosystems.DEFAULT:
        names = {one.name for path, text in texts.items() for one in code_parts.tests_of(path, text)}
        return own_tests.dump(texts, sorted(names), sorted(tests or ()))
    files = "".join(f"FILES[{json.dumps(path)}] = {_literal(text)}\n" for path, text in sorted(texts.items()))
    return _TEMPLATE.format(about=_ABOUT, files=files, tests=_listed(tests))


def _listed(tests: Collection[str] | None) -> str:
    if tests is None:
        return "None"
    return "[\n" + "".join(f"    {json.dumps(name)},\n" for name in sorted(tests)) + "]"


def _literal(text: str) -> str:
    """Return a text as a literal that a person can read."""
    if "'''" in text or "\\" in text or text.endswith("'") or not text.isascii():
        return "(\n" + "".join(f"    {line!a}\n" for line in excerpts.whole_lines(text)) + ")"
    return f"'''\\\n{text}'''"


def name_in(run_id: str, tests: Mapping[str, Sequence[code_parts.TestLines]] | None = None) -> str | None:
    """Return the name of the project's test that a test of an oracle's run stands for; None if it is no such.

    ``tests`` are those of each file, by its path, that the project's own runner ran; None: pytest did.
    """
    if tests is not None:
        return run_id if any(code_parts.named_in(run_id, *each) for each in tests.items()) else None
    match = _RUN.search(run_id)
    return match[1] if match else None


def by_file(names: Collection[str], texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return by path the tests of the project with these names, as functions of their file (``TestA::test_b``).

    Raises ValueError.
    """
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        if not code_parts.of_default(path):
            tests = code_parts.tests_of(path, text)
            own = {one for name in names for one in code_parts.named_in(name, path, tests)}
            found |= {path: sorted(own)} if own else {}
            continue
        module = str(PurePosixPath(path).with_suffix("")).replace("/", ".")
        for name in names:
            classes, _, function = name.partition("::")
            if classes == module or classes.startswith(f"{module}."):
                inner = classes[len(module) + 1 :].replace(".", "::")
                plain = function.partition("[")[0]
                found.setdefault(path, []).append(f"{inner}::{plain}" if inner else plain)
    return {path: sorted(set(own)) for path, own in found.items()}


def reduced(texts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return the files with these tests alone; conftest files stay whole. Raises ValueError."""
    own = by_file(names, {path: text for path, text in texts.items() if not is_conftest(path)})
    kept = {path: code_parts.alone(path, texts[path], tests) for path, tests in own.items()}
    return kept | {path: text for path, text in texts.items() if is_conftest(path) and _above(path, kept)}


def is_conftest(path: str) -> bool:
    """Return whether a file is a conftest.py."""
    return PurePosixPath(path).name == "conftest.py"


def _above(path: str, others: Collection[str]) -> bool:
    folder = PurePosixPath(path).parent
    return any(folder in PurePosixPath(other).parents for other in others)
