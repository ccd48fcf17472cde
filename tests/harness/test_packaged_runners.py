"""Oracles under a real jest, mocha and vitest, which CRAB_TEST_JEST names by the folder that node_modules lies in."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.types import Ending, Oracle, Reason, Run
from tests.harness.conftest import changed, proof

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.node

JEST = "CRAB_TEST_JEST"
HEADS = {
    "jest": "const {add} = require('./add');\n",
    "mocha": "const {add} = require('./add');\nconst assert = require('assert');\nconst test = it;\n"
    "const expect = value => ({toBe: other => assert.strictEqual(value, other)});\n",
    "vitest": "import {test, expect, describe} from 'vitest';\nimport {add} from './add';\n",
}
#: Releases of vitest call a process that is killed in a test a success, and the test pending.
LEAVING = {
    "jest": "test('sum', () => { process.exit(0); });\n",
    "mocha": "test('sum', () => { process.exit(0); });\n",
    "vitest": "test('sum', () => { process.kill(process.pid, 'SIGKILL'); });\n",
}
#: How each runs one file by itself.
COMMANDS = {
    "jest": ("node_modules/jest/bin/jest.js", "{file}"),
    "mocha": ("node_modules/mocha/bin/mocha.js", "{file}"),
    "vitest": ("node_modules/vitest/vitest.mjs", "run", "{file}"),
}
SUM = "test('sum', () => { expect(add(1, 2)).toBe(3); });\n"
ADD = "exports.add = (a, b) => {\n  return a + b;\n};\n"
TYPED = "export const add = (a: number, b: number): number => {\n  return a + b;\n};\n"


class Runner:
    """The harness's bench with a node and one of the runners, and a project that adds."""

    def __init__(self, bench: Bench, name: str) -> None:
        node = NodeTools().here()
        assert node is not None
        self.bench, self.name, self.head = bench, name, HEADS[name]
        self.file = f"test_c0.test.{ {'jest': 'js', 'mocha': 'cjs', 'vitest': 'ts'}[name] }"
        self.add, self.code = ("add.ts", TYPED) if name == "vitest" else ("add.js", ADD)
        bench.facts = {"tools": {"node": dataclasses.asdict(NodeTools().placed(node, ""))}}
        bench.write(self.add, self.code)
        bench.write("package.json", '{"private": true}')
        (bench.folder / "tree" / "node_modules").symlink_to(Path(os.environ[JEST]) / "node_modules")

    def runs(self, *sources: str, **changes: str) -> list[Run]:
        """Run oracles on the tree with these files changed, one of the tree's ``add`` by ``add``."""
        oracle = Oracle(file=f"oracles/{self.file}", runner=self.name)
        asked = [
            harness.OracleRun(id=str(number), state="now", seconds=60, oracle=oracle, source=self.head + source)
            for number, source in enumerate(sources)
        ]
        report = self.bench.report(asked, now=[changed(*edit) for edit in self.edits(changes)])
        assert report.problems == ()
        return list(report.runs)

    def edits(self, changes: Mapping[str, str]) -> list[tuple[str, str]]:
        return [(self.add if path == "add" else path, text) for path, text in changes.items()]

    def status(self, source: str, **changes: str) -> int:
        """Run an oracle as one of the project's tests, by the runner's own command; its status."""
        folder = self.bench.folder / "naive"
        shutil.copytree(self.bench.folder / "tree", folder, symlinks=True)
        for path, text in [(self.file, self.head + source), *self.edits(changes)]:
            (folder / path).write_text(text)
        program = self.bench.facts["tools"]["node"]["program"]
        command = [word.format(file=self.file) for word in COMMANDS[self.name]]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "CI": "true"}
        done = subprocess.run([program, *command], cwd=folder, env=env, check=False, capture_output=True)
        shutil.rmtree(folder)
        return done.returncode


@pytest.fixture(params=HEADS)
def runner(request: pytest.FixtureRequest, bench: Bench, without: Callable[[str, str], NoReturn]) -> Runner:
    if not os.environ.get(JEST):
        without("jest", f"{JEST} names no folder with a jest, a mocha and a vitest")
    return Runner(bench, request.param)


def test_each_outcome_and_each_ending_has_its_name(runner: Runner) -> None:
    mixed = (
        SUM + "describe('d', () => {\n  test('x', () => { expect(add(1, 2)).toBe(4); });\n"
        "  test('y', () => { add.gone(); });\n});\n"
        "test.skip('s', () => {});\n" + ("it('t');\n" if runner.name == "mocha" else "test.todo('t');\n")
    )
    gone = "require('./gone');" if runner.name != "vitest" else "await import('./gone');"
    said, lost, left, empty = runner.runs(mixed, gone, LEAVING[runner.name], "")
    assert (said.ending, said.tripwire, said.altered) == (Ending.COMPLETED, True, ())
    assert {test.id: test.outcome for test in said.tests} == {
        "sum": "passed", "d > x": "failed", "d > y": "failed", "s": "skipped", "t": "skipped"
    }  # fmt: skip
    assert [(test.id, test.outcome) for test in lost.tests] == [("session", "error")]
    assert verdict.judge(proof("sum"), left).reason is Reason.EXITED
    assert (runner.status(LEAVING[runner.name]) == 0) is (runner.name != "vitest")  # whose later releases know better
    assert verdict.judge(proof(), empty).reason is Reason.NOT_COLLECTED


#: Puts what has no end in the place of mocha's report.
SPOILING = """\
process.on('exit', () => {
  const fs = require('fs'), report = process.argv.find(word => word.endsWith('.cjs')).slice(0, -4);
  fs.unlinkSync(report);
  fs.symlinkSync('/dev/zero', report);
});
"""


def test_the_projects_own_tests_are_told_and_a_report_that_the_project_spoils_is_none(runner: Runner) -> None:
    runner.bench.write("package.json", f'{{"private": true, "scripts": {{"test": "{runner.name}"}}}}')
    end = "ts" if runner.name == "vitest" else "js"
    skipped = "it.skip('left', () => {});\n" if runner.name == "mocha" else "test.skip('left', () => {});\n"
    runner.bench.write(f"sum.test.{end}", runner.head + SUM + skipped)
    states = {"good": [], "bad": [changed(runner.add, runner.code.replace("+ b", "- b"))]}
    if runner.name == "mocha":
        states["spoiled"] = [changed(runner.add, runner.code + SPOILING)]
    found = runner.bench.own("node", f"sum.test.{end}", **states)
    place = "" if runner.name == "mocha" else f"sum.test.{end}"
    assert found.pop("spoiled", {".:": "error"}) == {".:": "error"}
    assert found == {
        state: {f"{place}:sum": outcome, f"{place}:left": "skipped"}
        for state, outcome in (("good", "passed"), ("bad", "failed"))
    }


def test_green_is_caught_and_red_says_where(runner: Runner) -> None:
    (green,) = runner.runs(SUM)
    assert verdict.judge(proof("sum"), green).reason is Reason.GREEN
    take = {"vitest": "import 'no-such-package';\n"}.get(runner.name, "require('no-such-package');\n")
    (lacking,) = runner.runs(SUM, add=take + runner.code)
    assert "MissingPackage" in {test.exception for test in lacking.tests}
    thrown = runner.code.replace("return a + b", "throw new TypeError('no')")
    (red,) = runner.runs(SUM, add=thrown)
    place = f"{runner.add}:2"
    assert [(test.outcome, test.exception, test.where) for test in red.tests] == [("failed", "TypeError", place)]
    assert verdict.not_red(proof("sum"), red) is None


def test_what_the_project_does_to_assertions_is_seen(runner: Runner) -> None:
    evil = {
        "jest": "expect.extend({toBe: () => ({pass: true, message: () => ''})});\n",
        "mocha": "const assert = require('assert'); assert.strictEqual = () => {};\n",
        "vitest": "import {expect} from 'vitest'; expect.extend({toBe: () => ({pass: true, message: () => ''})});\n",
    }[runner.name]
    wrong = evil + runner.code.replace("+", "-")
    assert runner.status(SUM, add=wrong) == 0
    (run,) = runner.runs(SUM, add=wrong)
    assert verdict.judge(proof("sum"), run).reason is Reason.TAMPERED


@pytest.mark.slow(reason="three runners of tests start")
def test_what_a_build_installs_has_no_effect(runner: Runner) -> None:
    fake = f"node_modules/{runner.name}"
    runner.bench.write("build.sh", "true\n")
    runner.bench.build = ("sh build.sh",)
    evil = f"rm node_modules; mkdir -p {fake}; touch {fake}/package.json\n"
    (run,) = runner.runs(SUM, **{"build.sh": evil, "add": runner.code.replace("+", "-")})
    assert verdict.judge(proof("sum"), run).reason is Reason.FAILED


CONFIGURED = {
    "mocha": (
        ".mocharc.cjs",
        "module.exports = {spec: 'test/*.js', ui: 'bdd', require: ['./hooks.js'], bail: true, reporter: 'dot'};\n",
        (
            "const Runner = require('mocha').Runner;\nRunner.prototype.runTest = function (fn) { fn(); };\n"
            "module.exports = {};\n"
        ),
    ),
    "vitest": (
        "vitest.config.ts",
        (
            "import {defineConfig} from 'vitest/config';\nimport {one} from './one';\n"
            "const test = {dir: 'src', include: ['**/*.spec.ts'], retry: 3};\n"
            "export default defineConfig({define: {ONE: one}, test});\n"
        ),
        (
            "process.on('exit', () => { process.exitCode = 0; });\n"
            "export default {define: {ONE: 2}, test: {setupFiles: ['./hooks.js']}};\n"
        ),
    ),
}


@pytest.mark.parametrize("runner", CONFIGURED, indirect=True)
def test_the_project_s_configuration_counts_and_a_revision_s_does_not(runner: Runner) -> None:
    path, text, evil = CONFIGURED[runner.name]
    runner.bench.write(path, text)
    runner.bench.write("one.ts", "export const one: number = 1;\n")
    runner.bench.write("hooks.js", "globalThis.ONE = 1;\n")
    runner.bench.write("test/other.js", "it('fails', () => { throw new Error('not asked for'); });\n")
    source = "test('sum', () => { expect(add(ONE, 2)).toBe(3); });\n"
    (run,) = runner.runs(source)
    assert verdict.judge(proof("sum"), run).reason is Reason.GREEN
    wrong = {path: evil, "add": runner.code.replace("+", "-")}
    assert (runner.status(source, **wrong), runner.status(source, add=wrong["add"])) == (0, 1)
    (run,) = runner.runs(source, **wrong)
    assert verdict.judge(proof("sum"), run).reason is Reason.FAILED
