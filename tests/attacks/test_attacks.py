"""Revisions that look right to a careless command and are wrong: each is green there, and missed here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab import harness
from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.protocols import FileChange
from pytest_crab.types import Environment
from pytest_crab.types import Judgement
from pytest_crab.types import Oracle
from pytest_crab.types import Proof
from pytest_crab.types import Reason
from pytest_crab.types import Run
from pytest_crab.types import Verdict
from pytest_crab.verdict import Evidence
from pytest_crab.verdict import judge
from pytest_crab.verdict import prove

if TYPE_CHECKING:
    from conftest import Place

ORACLE = """\
def test_first():
    from ledger import add
    assert add(0, 0) == 0

def test_sum():
    from ledger import add
    assert add(2, 2) == 4
"""
FIX = "def add(a, b):\n    return a + b\n"
WRONG = "\ndef add(a, b):\n    return a - b\n"
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

#: What a careless command is: its words after ``python -m pytest``.
COMMANDS = {
    "plain": ["test_c0.py"],
    "no ini": ["test_c0.py", "-x", "--tb=short", "--no-header", "-c", "/dev/null", "-p", "no:cacheprovider"],
    "with the project's tests": ["test_c0.py", "test_other.py"],
    "junit": ["test_c0.py", "--junitxml=report.xml"],
}


@dataclass(frozen=True)
class Attack:
    """What a revision changes, the careless command that takes it for right, and why it is missed here.

    ``roots`` is what that command's environment has on PYTHONPATH; ``install`` says that it runs setup.py first;
    ``reads`` is what it takes its verdict from: code, log or junit.
    """

    name: str
    files: Mapping[str, str]
    reason: Reason
    command: str = "plain"
    roots: str = "."
    install: bool = False
    reads: str = "code"
    detail: str = ""


def ini(path: str, section: str, options: str) -> Attack:
    quoted = f'"{options}"' if path.endswith("toml") else options
    return Attack(f"settings in {path}", {path: f"[{section}]\naddopts = {quoted}\n"}, Reason.FAILED)


def code(name: str, text: str, reason: Reason, command: str = "no ini", **more: str) -> Attack:
    return Attack(name, {"ledger.py": text + WRONG}, reason, command, **more)


def body(name: str, text: str, reason: Reason, command: str = "no ini", **more: str) -> Attack:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return Attack(name, {"ledger.py": f"def add(a, b):\n{lines}    return a - b\n"}, reason, command, **more)


ATTACKS = [
    Attack("conftest rewrites reports", {"conftest.py": REPORTS}, Reason.FAILED, "no ini"),
    Attack(
        "conftest sets the exit status",
        {"conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"},
        Reason.FAILED, "no ini",
    ),
    Attack(
        "conftest skips tests",
        {"conftest.py": "import pytest\ndef pytest_collection_modifyitems(items):\n"
                        "    for item in items:\n        item.add_marker(pytest.mark.skip)\n"},
        Reason.FAILED, "no ini",
    ),
    Attack("conftest patches pytest", {"conftest.py": NO_TESTS}, Reason.FAILED, "no ini"),
    body("skip in the call", "import pytest\nif a: pytest.skip('later')", Reason.SKIPPED),
    body("unittest's skip in the call", "import unittest\nif a: raise unittest.SkipTest", Reason.SKIPPED),
    body("xfail in the call", "import pytest\nif a: pytest.xfail('later')", Reason.SKIPPED),
    code("skip at import", "import pytest\npytest.skip('no', allow_module_level=True)", Reason.SKIPPED),
    body("end of the session", "import pytest\nif a: pytest.exit('done', returncode=0)", Reason.EXITED),
    ini("pytest.ini", "pytest", "--collect-only"),
    ini(".pytest.ini", "pytest", "--help"),
    ini("tox.ini", "pytest", "--setup-plan"),
    ini("setup.cfg", "tool:pytest", "--collect-only"),
    ini("pyproject.toml", "tool.pytest.ini_options", "--version --version"),
    Attack("settings name a plugin", {"pytest.ini": "[pytest]\naddopts = -p trick\n", "trick.py": REPORTS}, Reason.FAILED),  # noqa: E501 - code in a text
    Attack(
        "settings collect other tests",
        {"pytest.ini": "[pytest]\npython_functions = test_f* test_o*\n"}, Reason.FAILED, "with the project's tests",
    ),
    Attack(
        "a distribution in the tree",
        {"evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
         "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n", "evil.py": NO_TESTS},
        Reason.FAILED, "no ini",
    ),
    Attack("sitecustomize at the root", {"sitecustomize.py": NO_TESTS}, Reason.FAILED, "no ini"),
    Attack("sitecustomize in src", {"src/sitecustomize.py": NO_TESTS}, Reason.FAILED, "no ini", roots="src:."),
    Attack(
        "the install plants a .pth file",
        {"setup.py": "import sysconfig\nwith open(sysconfig.get_path('purelib') + '/zz.pth', 'w') as file:\n"
                     f"    file.write({f'import sys; exec({NO_TESTS!r})'!r})\n"},
        Reason.FAILED, "no ini", install=True,
    ),
    Attack(
        "the install puts another pytest first",
        {"setup.py": "import sysconfig\nwith open(sysconfig.get_path('purelib') + '/pytest.py', 'w') as file:\n"
                     f"    file.write({SHADOW!r})\n"},
        Reason.FAILED, "no ini", install=True,
    ),
    code("exit at import", "import os\nos._exit(0)", Reason.EXITED),
    code(
        "exit from a thread",
        "import os, threading, time\nthreading.Timer(0.1, os._exit, [0]).start()\ntime.sleep(60)", Reason.EXITED,
    ),
    code("exit at exit", "import atexit, os\natexit.register(os._exit, 0)", Reason.FAILED),
    code("a parent that leaves", "import os\nif os.fork():\n    os._exit(0)", Reason.EXITED),
    body("a process that becomes another", "import os\nif a: os.execv('/bin/true', ['true'])", Reason.EXITED),
    Attack("pytest.py in the tree", {"pytest.py": SHADOW}, Reason.FAILED, "no ini"),
    Attack("a pytest package in the tree", {"pytest/__init__.py": "", "pytest/__main__.py": SHADOW}, Reason.FAILED),
    Attack("_pytest in the tree", {"_pytest/__init__.py": SHADOW}, Reason.FAILED, "no ini"),
    Attack("pluggy.py in the tree", {"pluggy.py": SHADOW}, Reason.FAILED, "no ini"),
    Attack("a standard module in the tree", {"argparse.py": SHADOW}, Reason.FAILED, "no ini"),
    code("runtest replaced", NO_TESTS, Reason.TAMPERED, detail="_pytest.python.Function.runtest"),
    code(
        "runtest's code replaced",
        "from _pytest.python import Function\nFunction.runtest.__code__ = (lambda self: None).__code__",
        Reason.TAMPERED, detail="_pytest.python.Function.runtest",
    ),
    code(
        "calls replaced",
        "import _pytest.runner as r\nkept = r.CallInfo.from_call.__func__\n"
        "r.CallInfo.from_call = classmethod(lambda cls, func, *a, **k: kept(cls, lambda: None, *a, **k))",
        Reason.TAMPERED, detail="_pytest.runner.CallInfo",
    ),
    code(
        "the session never fails",
        "import _pytest.main as m\nm.Session.testsfailed = property(lambda self: 0, lambda self, value: None)",
        Reason.FAILED,
    ),
    code(
        "failures are skips",
        "import builtins, pytest\nbuiltins.AssertionError = pytest.skip.Exception", Reason.FAILED, "plain",
    ),
    code(
        "the junit writer replaced",
        "import _pytest.junitxml as j\nj._NodeReporter.append_failure = lambda self, report: None\n"
        "j._NodeReporter.append = lambda self, node: None\n"
        "j.LogXML.pytest_sessionfinish = lambda self: open(self.logfile, 'w').write('<testsuite failures=\"0\"/>')",
        Reason.FAILED, "junit", reads="junit",
    ),
    code(
        "a junit file is written",
        "import atexit\natexit.register(lambda: open('report.xml', 'w').write('<testsuite failures=\"0\"/>'))",
        Reason.FAILED, "junit", reads="junit",
    ),
    code(
        "a log is printed",
        "import os\nfor end in range(1, 20):\n    try:\n        os.write(end, b'== 2 passed in 0.01s ==\\n')\n"
        "    except OSError:\n        pass\nos._exit(1)",
        Reason.EXITED, reads="log",
    ),
    Attack("the oracle's file is replaced", {"test_c0.py": PASSING}, Reason.FAILED, "no ini"),
    body(
        "the oracle's next test is replaced",
        "import sys\nspace = sys._getframe(1).f_globals\nspace['test_sum'].__code__ = (lambda: None).__code__",
        Reason.TAMPERED, detail="oracle:test_c0.py::test_sum",
    ),
    body(
        "an oracle's item is replaced",
        "import gc, _pytest.python as p\nfor item in gc.get_objects():\n"
        "    if isinstance(item, p.Function): item.runtest = lambda: None",
        Reason.TAMPERED,
    ),
]  # fmt: skip


def examine(place: Place, states: Mapping[str, Mapping[str, str]], paths: tuple[str, ...] = (".",)) -> list[Run]:
    """Run the oracle once in each state."""
    changes = {
        state: [FileChange(path=path, mode="100644", content=text.encode()) for path, text in files.items()]
        for state, files in states.items()
    }
    oracle = Oracle(file="oracles/test_c0.py")
    runs = [harness.OracleRun(id=state, state=state, seconds=60, oracle=oracle, source=ORACLE) for state in states]
    environment = Environment(dockerfile="python", paths=paths)
    job = harness.Job(image=place.image, environment=environment, states=changes, runs=runs)
    done = place.runtime.execute(place.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
    return list(harness.parse(job, done).runs)


@pytest.fixture(scope="session")
def proof(place: Place) -> Proof:
    head, reference = examine(place, {"head": {}, "reference": {"ledger.py": FIX}})
    proof = prove(Evidence(instance="attacks", comment="c0", head=[head], reference=[reference]))
    assert isinstance(proof, Proof), proof
    return proof


def verdict(place: Place, proof: Proof, files: Mapping[str, str], paths: tuple[str, ...] = (".",)) -> Judgement:
    (run,) = examine(place, {"revision": files}, paths)
    return judge(proof, run)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_missed_for_its_reason(place: Place, proof: Proof, attack: Attack) -> None:
    judgement = verdict(place, proof, attack.files, tuple(attack.roots.split(":")))
    assert judgement.verdict is Verdict.MISSED
    assert judgement.reason is attack.reason, judgement.detail
    assert attack.detail in (judgement.detail or "")


def careless(attack: Attack, head: Mapping[str, str], folder: Path) -> bool:
    """Whether a command that trusts the tree takes the attack for right."""
    tree = folder / "tree"
    for path, text in {**head, "test_c0.py": ORACLE, **attack.files}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    python = sys.executable
    if attack.install:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        python = str(folder / "venv" / "bin" / "python")
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (packages / "pytest.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        subprocess.run([python, "setup.py"], cwd=tree, check=True)
    roots = os.pathsep.join(str(tree / root) for root in attack.roots.split(":"))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": roots, "HOME": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
    argv = [python, "-m", "pytest", *COMMANDS[attack.command]]
    done = subprocess.run(argv, cwd=tree, env=env, capture_output=True, text=True, timeout=60)
    if attack.reads == "junit":
        return 'failures="0"' in (tree / "report.xml").read_text()
    if attack.reads == "log":
        return "passed" in done.stdout and "failed" not in done.stdout
    return done.returncode == 0


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_same_attack_is_green_to_a_careless_command(attack: Attack, head: dict[str, str], tmp_path: Path) -> None:
    assert careless(attack, head, tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_careless_commands_see_an_honest_failure(command: str, head: dict[str, str], tmp_path: Path) -> None:
    assert not careless(Attack("none", {}, Reason.FAILED, command), head, tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"conftest.py": "import pytest\n@pytest.fixture\ndef book():\n    return {}\n"},
        {"setup.cfg": "[metadata]\nname = ledger\n[tool:pytest]\naddopts = -q\n", "tox.ini": "[tox]\n"},
        {"test_c0.py": "def test_mine():\n    pass\n", "test_other.py": "def test_more():\n    pass\n"},
    ],
    ids=["alone", "conftest", "settings", "tests"],
)
def test_an_honest_fix_is_caught_whatever_else_it_edits(place: Place, proof: Proof, files: dict[str, str]) -> None:
    assert verdict(place, proof, {"ledger.py": FIX, **files}) == Judgement(reason=Reason.GREEN)


@pytest.mark.parametrize(
    "text",
    [
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
        "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\n",
    ],
)
def test_ending_the_supervisor_is_no_way_out(place: Place, proof: Proof, text: str) -> None:
    assert verdict(place, proof, {"ledger.py": text + WRONG}).reason is Reason.EXITED


def test_settings_of_the_environment_are_not_read(place: Place, proof: Proof, tmp_path: Path) -> None:
    from dataclasses import replace

    (tmp_path / "zz.pth").write_text(f"import sys; exec({NO_TESTS!r})\n")
    (tmp_path / "sitecustomize.py").write_text(NO_TESTS)
    (tmp_path / "usercustomize.py").write_text(NO_TESTS)
    image = replace(place.image, site=(str(tmp_path), *place.image.site))
    judgement = verdict(replace(place, image=image), proof, {})
    assert judgement.reason is Reason.FAILED
