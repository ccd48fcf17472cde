"""A folder with two small instances and a store that knows them, copied for every test that runs trials."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

# pytester forgets what a run in its process imports, so that each would import these anew
import jinja2  # noqa: F401
import numpy  # noqa: F401
import pytest

# and numpy and yaml cannot be imported twice
import pytest_crab.agents.command
import pytest_crab.agents.simulated
import pytest_crab.plugin.registration
import pytest_crab.reviewers.command
import pytest_crab.reviewers.human
import pytest_crab.runtimes.bubblewrap_runtime
import pytest_crab.runtimes.docker
import pytest_crab.runtimes.slots
import pytest_crab.sources.tree
from pytest_crab.results.kept_runs import kept_runs

#: Variables that tests of options leave alone.
KEPT = ("CRAB_TEST_REQUIRE", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_PLUGINS")

#: Stands in every oracle, and may stand nowhere else.
SECRET = "seven_little_oracles"

BASE = "def total(prices):\n    return sum(prices)\n"
BAD = "    return price - price * percent\n", '    return "<b>" + name + "</b>"\n'
GOOD = "    return price - price * percent / 100\n", '    return "<b>" + escape(name) + "</b>"\n'
CODE = "from html import escape\n\n\n{base}\n\ndef discount(price, percent):\n{c0}\n\ndef label(name):\n{c1}"

ORACLES = (
    f"import shop\n\n\ndef test_{SECRET}():\n    assert shop.discount(200, 50) == 100\n",
    f"import inspect\n\nimport shop\n\n\ndef test_{SECRET}():\n    assert 'escape(' in inspect.getsource(shop.label)\n",
)
#: An oracle that is green whatever the code is.
GREEN = f"def test_{SECRET}():\n    assert True\n"

INSTANCE = """\
schema: 1
id: {id}
provenance: authored
repo: owner/{name}
license: MIT
pull_request: {{number: 7, title: "{title}"}}
source:
  tree: {{path: tree, head: head.diff, reference: reference.diff}}
environment: {{dockerfile: python, timeout: 20}}
comments:
  - id: c0
    path: shop.py
    lines: [8, 9]
    body: The percent is a number out of a hundred.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
    reference: reference/c0.diff
  - id: c1
    path: shop.py
    lines: [12, 13]
    body: Please escape the name.
    category: security
    kind: structural
    oracle: oracles/test_c1.py
    reference: reference/c1.diff
"""

CRAB_YAML = """\
agents:
  mine: {use: command, command: [PYTHON, fix.py], files: [fix.py]}
reviewers:
  both: {use: command, command: [PYTHON, say.py], files: [say.py], env: {SAY: "percent escape"}}
  half: {use: command, command: [PYTHON, say.py], files: [say.py], env: {SAY: percent}}
  moody: {use: command, command: [PYTHON, say.py], files: [say.py], env: {SAY: "percent escape", REFUSE: Till}}
  strict: {use: ruff, select: [F401, F821]}
"""
SAY = """\
import json, os, sys
request = json.load(sys.stdin)
if os.environ.get("REFUSE") == request["title"]:
    sys.exit("not this one")
places = {"percent": 9, "escape": 13}
findings = [{"path": "shop.py", "start": places[word], "body": word} for word in os.environ["SAY"].split()]
print(json.dumps({"schema": 1, "findings": findings}))
"""
FIX = """\
import json, pathlib, sys
said = " ".join(finding["body"] for finding in json.load(sys.stdin)["findings"])
code = pathlib.Path("shop.py").read_text()
if "percent" in said:
    code = code.replace("* percent", "* percent / 100")
if "escape" in said:
    code = code.replace("+ name +", "+ escape(name) +")
pathlib.Path("shop.py").write_text(code)
"""


def code(*good: int) -> str:
    """The code with these comments resolved."""
    c0, c1 = ((GOOD if number in good else BAD)[number] for number in range(2))
    return CODE.format(base=BASE, c0=c0, c1=c1)


def diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a/shop.py", "b/shop.py")
    return "diff --git a/shop.py b/shop.py\n" + "".join(lines)


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_instance(folder: Path, title: str, **more: str) -> None:
    """Write an instance; ``more`` replaces parts of its instance.yaml."""
    text = INSTANCE.format(id=folder.name, name=folder.name.split("-")[0], title=title)
    for old, new in more.items():
        assert old in text
        text = text.replace(old, new)
    files = {"instance.yaml": text, "tree/shop.py": BASE, "head.diff": diff(BASE, code())}
    files |= {"reference.diff": diff(code(), code(0, 1))}
    files |= {f"reference/c{number}.diff": diff(code(), code(number)) for number in range(2)}
    files |= {f"oracles/test_c{number}.py": text for number, text in enumerate(ORACLES)}
    write(folder, files)


class Lab:
    """A folder with instances in which pytest is run."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.store = self.path / ".crab"

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process, on the local runtime."""
        return self.pytester.runpytest("--crab-runtime=local", *arguments)

    def spawn(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, on the local runtime."""
        return self.pytester.runpytest_subprocess("--crab-runtime=local", *arguments)

    @property
    def report(self) -> Path:
        """The folder of the last run, whole or not."""
        return kept_runs(self.store)[-1]

    def records(self) -> list[dict[str, Any]]:
        """The trials on the record."""
        return [json.loads(line) for line in (self.report / "trials.jsonl").read_text().splitlines()]

    def summary(self) -> dict[str, Any]:
        """The one reviewer's part of summary.json."""
        (reviewer,) = json.loads((self.report / "summary.json").read_text())["reviewers"]
        return dict(reviewer)

    def reused(self) -> list[dict[str, bool]]:
        """Of each trial on the record, which step came from the store."""
        return [{step["step"]: step["reused"] for step in trial["steps"]} for trial in self.records()]

    def forget(self, *steps: str) -> None:
        """Drop what the store knows of these steps."""
        for step in steps:
            shutil.rmtree(self.store / "steps" / step, ignore_errors=True)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the folder."""
        write(self.path, {name: textwrap.dedent(text) for name, text in files.items()})

    def make_sick(self, name: str = "worn-3") -> None:
        """Add an instance one of whose oracles is green at head."""
        write_instance(self.path / "instances" / name, "Sick")
        (self.path / "instances" / name / "oracles" / "test_c1.py").write_text(GREEN)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("CRAB_", "PYTEST_")) and name not in KEPT:
            monkeypatch.delenv(name)
    for name in ("ANTHROPIC_API_KEY", "CI", "BUILD_NUMBER"):  # in CI pytest cuts no line of its summary
        monkeypatch.delenv(name, raising=False)


OWN_SLOTS = """\
from pathlib import Path
from pytest_crab.runtimes import slots
slots.machine_folder = lambda: Path(__file__).parent
"""


@pytest.fixture(scope="session", autouse=True)
def own_slots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Slots of their own for these tests, so that no other run of this user is waited for."""
    folder = tmp_path_factory.mktemp("slots")
    (folder / "own_slots.py").write_text(OWN_SLOTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_PLUGINS", "own_slots")
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.syspath_prepend(folder)
        patch.setattr(pytest_crab.runtimes.slots, "machine_folder", lambda: folder)
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two instances, scripts and settings."""
    folder = tmp_path_factory.mktemp("template")
    write_instance(folder / "instances" / "shop-1", "Shop")
    write_instance(folder / "instances" / "till-2", "Till")
    write(folder, {"crab.yaml": CRAB_YAML.replace("PYTHON", sys.executable), "say.py": SAY, "fix.py": FIX})
    return folder


@pytest.fixture
def bare(pytester: pytest.Pytester, template: Path) -> Lab:
    """The folder without a store: nothing has run yet."""
    shutil.copytree(template, pytester.path, dirs_exist_ok=True)
    return Lab(pytester)


@pytest.fixture(scope="session")
def seed(template: Path, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A store in which both instances are proved, and human and none are known."""

    def run(folder: Path) -> None:
        shutil.copytree(template, folder, dirs_exist_ok=True)
        crew = ["--reviewer=human", "--reviewer=none", "--crab-runtime=local", "instances"]
        argv = [sys.executable, "-m", "pytest", *crew]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "2 of 4 trials fully caught" in done.stdout, done.stdout + done.stderr
        shutil.rmtree(folder / ".crab" / "runs")
        (folder / ".crab" / "report").unlink()

    return made_once("plugin-seed", run) / ".crab"


@pytest.fixture
def lab(bare: Lab, seed: Path) -> Lab:
    """The folder with a store that knows both instances."""
    shutil.copytree(seed, bare.store, symlinks=True)
    return bare
