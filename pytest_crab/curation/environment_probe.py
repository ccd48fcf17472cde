"""The check of an environment before there is an oracle: changed modules can be imported, and a test command passes.

The two probes have the form of oracles, so that they are run and diagnosed as oracles are. What they run is declared,
and the result is read from a JUnit report and an exit status; no text that a test prints is parsed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_crab import diffs
from pytest_crab.curation.last_lines import last_lines
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.ecosystems.files_of_tests import is_test, may_have_tests_of
from pytest_crab.harness import CommandRun
from pytest_crab.protocols import Snapshot
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_oracles, tests_pass
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import PASS_TO_PASS, Comment, Ending, Kind, Oracle, Proof, Run
from pytest_crab.verdict import flake_bound

#: The ids of the two probes.
IMPORTS, TESTS = "imports", "tests"

#: The file that the ladder's own test command writes.
REPORT = ".crab-report.xml"

#: Files that are no module although they lie where modules do.
_RUN_ON_IMPORT = frozenset({"setup.py", "noxfile.py", "fabfile.py", "dodo.py"})

#: Each probe is run so often on each side.
_RUNS = 2

_IMPORTS = """\
import importlib

import pytest


@pytest.mark.parametrize("name", {modules})
def test_module_can_be_imported(name):
    importlib.import_module(name)
"""

_TESTS = """\
import json
import os
import subprocess
import sys
from xml.etree import ElementTree

COMMAND, REPORT = json.loads({declared})


class NoReportWritten(Exception):
    pass


class NoTestPassed(Exception):
    pass


def test_command():
    if os.path.exists(REPORT):
        os.remove(REPORT)
    program = sys.executable if COMMAND[0] in ("python", "python3") else COMMAND[0]
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)  # the project's tests may need the environment's plugins
    done = subprocess.run([program] + COMMAND[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ)
    if not os.path.exists(REPORT):
        raise NoReportWritten()
    cases = list(ElementTree.parse(REPORT).iter("testcase"))
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    assert not bad, "%d of %d tests do not pass" % (len(bad), len(cases))
    if all(case.find("skipped") is not None for case in cases):
        raise NoTestPassed()
    assert done.returncode == 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCommand:
    """A command that runs tests of the project and writes a JUnit report."""

    command: tuple[str, ...]
    #: The path in the tree that it writes to.
    report: str


def changed_modules(snapshot: Snapshot, roots: Sequence[str]) -> tuple[str, ...]:
    """Return the modules that the pull request changes and that both its sides have.

    Tests are left out, and so are files that no import finds from ``roots`` (scripts, pages' settings) and that do
    something when they are imported.
    """
    found = []
    for path in _changed(snapshot, _is_python):
        root, name = _module(snapshot, path)
        if root in roots and path not in _RUN_ON_IMPORT and not is_test(path):
            found.append(name)
    return tuple(dict.fromkeys(found))


def changed_tests(snapshot: Snapshot) -> JUnitCommand | None:
    """Return the command of the changed test files that both sides have; None: there are none."""
    changed = _changed(snapshot, _is_python)
    files = [path for path in changed if is_test(path) and PurePosixPath(path).name.startswith("test_")]
    if not files:
        return None
    return JUnitCommand(command=("python", "-m", "pytest", "-q", f"--junitxml={REPORT}", *files), report=REPORT)


def own_tests_of_change(snapshot: Snapshot, owner: Ecosystem) -> tuple[str, ...]:
    """Return the runner of a project's own tests and the changed files of them that both sides have; empty for none."""
    files = tuple(_changed(snapshot, functools.partial(may_have_tests_of, owner)))
    return (owner.tests_runner, *files) if owner.tests_runner is not None and files else ()


def pass_on_both_sides(context: TrialContext) -> bool:
    """Return whether an instance's pass_to_pass passes each time. Raises EngineError, Cancelled."""
    sides = (context.snapshot.head_tree, context.snapshot.reference_tree)
    return all(tests_pass(context, tree) for tree in sides for _ in range(_RUNS))


def _changed(snapshot: Snapshot, fits: Callable[[str], bool]) -> Iterator[str]:
    sides = (snapshot.head_tree, snapshot.reference_tree)
    for path in sorted(filter(fits, diffs.touched_paths(snapshot.pull_request_diff()))):
        if all(snapshot.read(tree, path) is not None for tree in sides):
            yield path


def _is_python(path: str) -> bool:
    return path.endswith(".py")


def _module(snapshot: Snapshot, path: str) -> tuple[str, str]:
    """Return the folder that a file is imported from, above its topmost package, and its dotted name there."""
    place = PurePosixPath(path)
    parts = [] if place.name == "__init__.py" else [place.stem]
    folder = place.parent
    while folder.parts and snapshot.read(snapshot.head_tree, f"{folder}/__init__.py") is not None:
        parts.insert(0, folder.name)
        folder = folder.parent
    return str(folder), ".".join(parts)


def write_probes(folder: Path, path: str, modules: Sequence[str], tests: JUnitCommand | None) -> tuple[Comment, ...]:
    """Write the probes into an instance's folder; return them as comments on ``path``."""
    texts = {}
    if modules:
        texts[IMPORTS] = _IMPORTS.format(modules=json.dumps(list(modules)))
    if tests is not None:
        texts[TESTS] = _TESTS.format(declared=repr(json.dumps([tests.command, tests.report])))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"test_{name}.py").write_text(text, "utf-8")
    return tuple(
        Comment(id=name, path=path, body=name, kind=Kind.BEHAVIORAL, oracle=Oracle(file=f"test_{name}.py"))
        for name in texts
    )


def commands_to_show(modules: Sequence[str], tests: JUnitCommand | None) -> dict[str, tuple[str, ...]]:
    """Return for each probe the command that prints why it fails."""
    shown: dict[str, tuple[str, ...]] = {} if tests is None else {TESTS: tests.command}
    return {IMPORTS: ("python", "-c", f"import {', '.join(modules)}"), **shown} if modules else shown


def probe(context: TrialContext, shown: Mapping[str, Sequence[str]]) -> tuple[ProvedComment, ...]:
    """Run each probe of an instance on head and on merged; one that passes each time counts as proved.

    The problem of another one ends with the last lines that its command in ``shown`` prints.

    Raises SourceError, ImageError, EngineError, StoreError, Cancelled.
    """
    snapshot = context.snapshot
    sides = {"head": snapshot.head_tree, "merged": snapshot.reference_tree}
    requests = {
        (comment.id, name, number): OracleRequest(comment=comment, tree=tree, number=number)
        for comment in context.instance.with_oracles
        for name, tree in sides.items()
        for number in range(_RUNS)
    }
    wanted = {request.id: request for request in requests.values()}
    runs = run_oracles(context, list(wanted.values()), pass_to_pass=snapshot.head_tree).runs
    found = []
    for comment in context.instance.with_oracles:
        own = [(side, runs.get(request.id)) for (name, side, _), request in requests.items() if name == comment.id]
        faults = [(side, f"at {side} {fault}") for side, run in own if (fault := _fault(run))]
        side, problem = next(iter(faults), ("head", None))
        if problem is None and comment.id == TESTS:
            command = runs.get(PASS_TO_PASS)
            problem = (
                None if command is None or command.exit_code == 0 else "the test command alone does not end with 0"
            )
        if problem is not None and comment.id in shown:
            seconds, words = context.instance.required_environment.timeout, tuple(shown[comment.id])
            asked = CommandRun(id=comment.id, state=sides[side], seconds=seconds, command=words, printed=True)
            problem = f"{problem}\n{last_lines(context, asked)}".strip()
        count = _RUNS * len(sides)
        proof = Proof(comment=comment.id, expected=(), runs=count, flake_bound=flake_bound(count))
        found.append(ProvedComment(comment=comment, key="", proof=None if problem else proof, problem=problem))
    return tuple(found)


def _fault(run: Run | None) -> str | None:
    """Return why a run of a probe does not pass, in words for a model; None if it does."""
    if run is None:
        return "it was never run"
    failed = [
        f"{test.id} {test.outcome} {test.exception or ''}".strip() for test in run.tests if test.outcome != "passed"
    ]
    if run.ending is Ending.COMPLETED and run.tests and not failed:
        return None
    return "; ".join(failed[:10]) or f"it ended as {run.ending}" + (f": {run.detail}" if run.detail else "")
