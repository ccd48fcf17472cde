"""Revisions that a careless command takes for right, whatever they run in: data, and a few words to write it with."""

from __future__ import annotations

import importlib._bootstrap_external
import sys
from typing import Any

from hostile.shape import Kind, Revision

from pytest_crab.types import Reason

WRONG = "\ndef add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
PASSING = "def test_first():\n    pass\n\ndef test_sum():\n    pass\n"

#: Makes every test do nothing, from wherever it is imported.
NO_TESTS = "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"
REPORTS = """\
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
SHADOW = "print('1 passed')\nraise SystemExit(0)\n"
PROGRAM = "#!/bin/sh\necho '2 passed'\nexit 0\n"
TAG = sys.implementation.cache_tag


def code(kind: Kind, name: str, text: str, reason: Reason, command: str = "no ini", **more: Any) -> Revision:
    """What runs when the project is imported."""
    return Revision(kind=kind, name=name, files={"ledger.py": text + WRONG}, reason=reason, command=command, **more)


def body(kind: Kind, name: str, text: str, reason: Reason, command: str = "no ini", **more: Any) -> Revision:
    """What runs when the project's function is called."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    files = {"ledger.py": f"def add(a, b):\n{lines}    return a - b\n"}
    return Revision(kind=kind, name=name, files=files, reason=reason, command=command, **more)


def beside(
    kind: Kind, name: str, path: str, text: str | bytes, reason: Reason = Reason.FAILED, **more: Any
) -> Revision:
    """One more file beside a project that stays wrong."""
    return Revision(kind=kind, name=name, files={path: text}, reason=reason, **more)


def settings(path: str, section: str, options: str) -> Revision:
    quoted = f'"{options}"' if path.endswith("toml") else options
    text = f"[{section}]\naddopts = {quoted}\n"
    return beside(Kind.PLANTED, f"settings in {path}", path, text, command="plain")


def compiled(text: str, path: str) -> bytes:
    """Bytecode that Python loads without looking whether its source is another."""
    made = compile(text, path, "exec")
    return bytes(importlib._bootstrap_external._code_to_hash_pyc(made, bytes(8), checked=False))  # type: ignore[attr-defined]


def setup(text: str) -> dict[str, str]:
    """An install script that writes into the folder of packages, whose path is ``site``."""
    return {"setup.py": f"import os, sys, sysconfig\nsite = sysconfig.get_path('purelib')\n{text}"}


FORGED = [
    code(Kind.FORGED, "runtest replaced", NO_TESTS, Reason.TAMPERED, detail="_pytest.python.Function.runtest"),
    code(
        Kind.FORGED, "runtest's code replaced",
        "from _pytest.python import Function\nFunction.runtest.__code__ = (lambda self: None).__code__",
        Reason.TAMPERED, detail="_pytest.python.Function.runtest",
    ),
    code(
        Kind.FORGED, "calls replaced",
        "import _pytest.runner as r\nkept = r.CallInfo.from_call.__func__\n"
        "r.CallInfo.from_call = classmethod(lambda cls, func, *a, **k: kept(cls, lambda: None, *a, **k))",
        Reason.TAMPERED, detail="_pytest.runner.CallInfo",
    ),
    body(
        Kind.FORGED, "the oracle's next test replaced by its frame",
        "import sys\nspace = sys._getframe(1).f_globals\nspace['test_sum'].__code__ = (lambda: None).__code__",
        Reason.TAMPERED, detail="oracle:test_c0.py::test_sum",
    ),
    body(
        Kind.FORGED, "the oracle's items replaced by gc",
        "import gc, _pytest.python as p\nfor item in gc.get_objects():\n"
        "    if isinstance(item, p.Function): item.runtest = lambda: None",
        Reason.TAMPERED,
    ),
    body(
        Kind.FORGED, "the oracle's next item replaced by gc, and the tripwire left alone",
        "import gc, _pytest.python as p\nfor item in gc.get_objects():\n"
        "    if isinstance(item, p.Function) and item.name == 'test_sum': item.runtest = lambda: None",
        Reason.TAMPERED, detail="oracle:test_c0.py::test_sum",
    ),
    code(
        Kind.FORGED, "an import hook for the oracle",
        "import sys, gc, types\nclass Hook:\n    def find_spec(self, name, path=None, target=None):\n"
        "        for thing in gc.get_objects():\n"
        "            if isinstance(thing, types.FunctionType) and thing.__name__.startswith('test_'):\n"
        "                thing.__code__ = (lambda: None).__code__\n        return None\n"
        "sys.meta_path.insert(0, Hook())\ntry:\n    import no_such_module\nexcept ImportError:\n    pass",
        Reason.TAMPERED, detail="oracle:test_c0.py::test_",
    ),
    code(
        Kind.FORGED, "__import__ replaced",
        "import builtins\nkept = builtins.__import__\ndef hook(name, *rest):\n    module = kept(name, *rest)\n"
        "    if name == 'ledger': module.add = lambda a, b: a + b\n    return module\nbuiltins.__import__ = hook",
        Reason.TAMPERED, detail="builtins.__import__",
    ),
    code(
        Kind.FORGED, "a hook registered by gc",
        "import gc, pytest\nclass Evil:\n    @pytest.hookimpl(tryfirst=True)\n"
        "    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, pytest.Session): thing.config.pluginmanager.register(Evil(), 'evil')",
        Reason.TAMPERED,
    ),
    code(
        Kind.FORGED, "failures are skips",
        "import builtins, pytest\nbuiltins.AssertionError = pytest.skip.Exception", Reason.FAILED, "plain",
    ),
]  # fmt: skip

LIBRARIES = [
    code(
        Kind.LIBRARIES, "a comparison that is always true", "import math\nmath.isclose = lambda *_, **__: True",
        Reason.TAMPERED, detail="math.isclose",
    ),
    code(
        Kind.LIBRARIES, "a draw that is always the wrong sum", "import random\nrandom.choice = lambda *_: 0",
        Reason.TAMPERED, detail="random.choice",
    ),
    code(
        Kind.LIBRARIES, "another function of Python's in its place", "import math\nmath.isclose = max",
        Reason.TAMPERED, detail="math.isclose",
    ),
    code(
        Kind.LIBRARIES, "the code of a method of a library",
        "import random\nrandom.Random.choice.__code__ = (lambda self, seq: 0).__code__",
        Reason.TAMPERED, detail="random.Random.choice",
    ),
    code(
        Kind.LIBRARIES, "a function of the oracle's own",
        "import sys\nsys.modules['test_c0'].is_right = lambda got: True", Reason.TAMPERED, detail="oracle.is_right",
    ),
    code(
        Kind.LIBRARIES, "what the oracle calls a library",
        "import sys, types\nsys.modules['test_c0'].math = types.SimpleNamespace(isclose=max)",
        Reason.TAMPERED, detail="oracle.math",
    ),
]  # fmt: skip

PLANTED = [
    beside(Kind.PLANTED, "conftest rewrites reports", "conftest.py", REPORTS),
    beside(
        Kind.PLANTED, "conftest sets the exit status", "conftest.py",
        "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    ),
    beside(
        Kind.PLANTED, "conftest skips tests", "conftest.py",
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item.add_marker(pytest.mark.skip)\n",
    ),
    beside(Kind.PLANTED, "conftest patches pytest", "conftest.py", NO_TESTS),
    settings("pytest.ini", "pytest", "--collect-only"),
    settings(".pytest.ini", "pytest", "--help"),
    settings("tox.ini", "pytest", "--setup-plan"),
    settings("setup.cfg", "tool:pytest", "--collect-only"),
    settings("pyproject.toml", "tool.pytest.ini_options", "--version --version"),
    Revision(
        kind=Kind.PLANTED, name="settings name a plugin",
        files={"pytest.ini": "[pytest]\naddopts = -p trick\n", "trick.py": REPORTS}, reason=Reason.FAILED,
        command="plain",
    ),
    beside(
        Kind.PLANTED, "settings collect other tests", "pytest.ini", "[pytest]\npython_functions = test_f* test_o*\n",
        command="with the project's tests",
    ),
    Revision(
        kind=Kind.PLANTED, name="a distribution in the tree",
        files={"evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
               "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n", "evil.py": NO_TESTS},
        reason=Reason.FAILED,
    ),
    beside(Kind.PLANTED, "sitecustomize at the root", "sitecustomize.py", NO_TESTS),
    beside(Kind.PLANTED, "sitecustomize in src", "src/sitecustomize.py", NO_TESTS, roots="src:."),
    beside(Kind.PLANTED, "pytest.py in the tree", "pytest.py", SHADOW),
    Revision(
        kind=Kind.PLANTED, name="a pytest package in the tree",
        files={"pytest/__init__.py": "", "pytest/__main__.py": SHADOW}, reason=Reason.FAILED, command="plain",
    ),
    beside(Kind.PLANTED, "_pytest in the tree", "_pytest/__init__.py", SHADOW),
    beside(Kind.PLANTED, "pluggy.py in the tree", "pluggy.py", SHADOW),
    beside(Kind.PLANTED, "a standard module in the tree", "argparse.py", SHADOW),
    beside(Kind.PLANTED, "the oracle's file is replaced", "test_c0.py", PASSING),
]  # fmt: skip

TOOLS = [
    beside(Kind.TOOLS, "python in the tree's bin", "bin/python", PROGRAM, command="python on PATH"),
    beside(Kind.TOOLS, "pytest in the tree's bin", "bin/pytest", PROGRAM, command="pytest on PATH"),
    beside(Kind.TOOLS, "a virtual environment in the tree", ".venv/bin/python", PROGRAM, command="the tree's venv"),
    beside(Kind.TOOLS, "env in the tree's bin", "bin/env", PROGRAM, command="env on PATH"),
]

BYTECODE = [
    beside(
        Kind.BYTECODE, "bytecode of the oracle", f"__pycache__/test_c0.{TAG}.pyc", compiled(PASSING, "test_c0.py"),
        command="plain assertions",
    ),
    beside(Kind.BYTECODE, "bytecode of the project", f"__pycache__/ledger.{TAG}.pyc", compiled(RIGHT, "ledger.py")),
    beside(Kind.BYTECODE, "a settings module without source", "sitecustomize.pyc", compiled(NO_TESTS, "x.py")),
    beside(Kind.BYTECODE, "pytest without source", "pytest.pyc", compiled(SHADOW, "pytest.py")),
    Revision(
        kind=Kind.BYTECODE, name="a package without source that comes before the module",
        files={"ledger/__init__.pyc": compiled(RIGHT, "ledger.py")}, reason=Reason.FAILED,
    ),
]  # fmt: skip

INSTALL = [
    Revision(
        kind=Kind.INSTALL, name="the install plants a .pth file", reason=Reason.FAILED, install=True,
        files=setup(f"open(site + '/zz.pth', 'w').write({f'import sys; exec({NO_TESTS!r})'!r})\n"),
    ),
    Revision(
        kind=Kind.INSTALL, name="the install puts another pytest first", reason=Reason.FAILED, install=True,
        files=setup(f"open(site + '/pytest.py', 'w').write({SHADOW!r})\n"),
    ),
    Revision(
        kind=Kind.INSTALL, name="the install registers a plugin", reason=Reason.FAILED, install=True,
        files=setup(
            "place = site + '/evil-1.0.dist-info'\nos.makedirs(place)\n"
            "open(place + '/METADATA', 'w').write('Metadata-Version: 2.1\\nName: evil\\nVersion: 1.0\\n')\n"
            "open(place + '/entry_points.txt', 'w').write('[pytest11]\\nevil = evil\\n')\n"
            f"open(site + '/evil.py', 'w').write({NO_TESTS!r})\n"
        ),
    ),
    Revision(
        kind=Kind.INSTALL, name="the install replaces the interpreter", reason=Reason.FAILED, install=True,
        files=setup(
            f"os.unlink(sys.executable)\nopen(sys.executable, 'w').write({PROGRAM!r})\n"
            "os.chmod(sys.executable, 0o755)\n"
        ),
    ),
    Revision(
        kind=Kind.INSTALL, name="the install rewrites the tests", reason=Reason.FAILED, install=True,
        files=setup(f"open('test_c0.py', 'w').write({PASSING!r})\n"),
    ),
]  # fmt: skip

REPORTED = [
    body(Kind.REPORTS, "skip in the call", "import pytest\nif a: pytest.skip('later')", Reason.SKIPPED),
    body(Kind.REPORTS, "unittest's skip in the call", "import unittest\nif a: raise unittest.SkipTest", Reason.SKIPPED),
    body(Kind.REPORTS, "xfail in the call", "import pytest\nif a: pytest.xfail('later')", Reason.SKIPPED),
    code(Kind.REPORTS, "skip at import", "import pytest\npytest.skip('no', allow_module_level=True)", Reason.SKIPPED),
    body(
        Kind.REPORTS, "end of the session", "import pytest\nif a: pytest.exit('done', returncode=0)", Reason.EXITED
    ),
    code(Kind.REPORTS, "exit at import", "import os\nos._exit(0)", Reason.EXITED),
    code(
        Kind.REPORTS, "exit from a thread",
        "import os, threading, time\nthreading.Timer(0.1, os._exit, [0]).start()\ntime.sleep(60)", Reason.EXITED,
    ),
    code(Kind.REPORTS, "exit at exit", "import atexit, os\natexit.register(os._exit, 0)", Reason.FAILED),
    code(Kind.REPORTS, "a parent that leaves", "import os\nif os.fork():\n    os._exit(0)", Reason.EXITED),
    body(
        Kind.REPORTS, "a process that becomes another", "import os\nif a: os.execv('/bin/true', ['true'])",
        Reason.EXITED,
    ),
    code(
        Kind.REPORTS, "the session never fails",
        "import _pytest.main as m\nm.Session.testsfailed = property(lambda self: 0, lambda self, value: None)",
        Reason.FAILED,
    ),
    code(
        Kind.REPORTS, "the junit writer replaced",
        "import _pytest.junitxml as j\nj._NodeReporter.append_failure = lambda self, report: None\n"
        "j._NodeReporter.append = lambda self, node: None\n"
        "j.LogXML.pytest_sessionfinish = lambda self: open(self.logfile, 'w').write('<testsuite failures=\"0\"/>')",
        Reason.FAILED, "junit", reads="junit",
    ),
    code(
        Kind.REPORTS, "a junit file is written",
        "import atexit\natexit.register(lambda: open('report.xml', 'w').write('<testsuite failures=\"0\"/>'))",
        Reason.FAILED, "junit", reads="junit",
    ),
    code(
        Kind.REPORTS, "a log is printed",
        "import os\nfor end in range(1, 20):\n    try:\n        os.write(end, b'== 2 passed in 0.01s ==\\n')\n"
        "    except OSError:\n        pass\nos._exit(1)",
        Reason.EXITED, reads="log",
    ),
]  # fmt: skip

REVISIONS = [*FORGED, *LIBRARIES, *PLANTED, *TOOLS, *BYTECODE, *INSTALL, *REPORTED]
