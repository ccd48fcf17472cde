"""Oracles under node's own test runner: the same contract as pytest's, and what cannot be forged."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.node

HEAD = "import test, {before, describe, it} from 'node:test';\nimport assert from 'node:assert';\n"
IMPORT = HEAD + "import {add} from './src/add.mjs';\n"
ADD = "export function add(a, b) {\n  return a + b;\n}\n"
SUM = IMPORT + "test('sum', () => { assert.equal(add(1, 2), 3); });\n"


class NodeBench:
    """The harness's bench with a node, and a project that adds."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.write("src/add.mjs", ADD)

        node = NodeTools().here()
        assert node is not None
        bench.facts = {"tools": {"node": dataclasses.asdict(NodeTools().placed(node, ""))}}

    def run(
        self, source: str, *changes: FileChange, file: str = "test_c0.test.mjs", seconds: float = 20,
        runner: str = "node",
    ) -> Run:  # fmt: skip
        oracle = Oracle(file=f"oracles/{file}", runner=runner)
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def node(bench: Bench) -> NodeBench:
    return NodeBench(bench)


def test_a_green_oracle_is_caught_and_a_red_one_says_where(node: NodeBench) -> None:
    green = node.run(SUM)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert verdict.judge(proof("sum"), green).reason is Reason.GREEN
    bad = "export function add(a, b) {\n  throw new TypeError('no');\n}\n"
    red = node.run(SUM, changed("src/add.mjs", bad))
    (test,) = red.tests
    assert (test.outcome, test.exception, test.where) == ("failed", "TypeError", "src/add.mjs:2")
    assert verdict.not_red(proof("sum"), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(node: NodeBench) -> None:
    oracle = Oracle(file="oracles/test_c0.test.mjs", runner="node")
    assert (
        "gone is empty"
        in node.bench.quoted(oracle, HEAD + "test('sum', () => { throw new Error('gone is empty'); });\n")["sum"]
    )
    assert "gone.mjs" in node.bench.quoted(oracle, HEAD + "import './gone.mjs';")["session"]


def test_every_test_has_its_path_and_its_own_outcome(node: NodeBench) -> None:
    run = node.run(
        HEAD
        + "describe('d', () => { it('x', () => {}); it('x', () => { assert(0); }); });\n"
        + "test('parent', async t => { await t.test('child', () => {}); assert(0); });\n"
        + "describe('hooked', () => { before(() => { throw new RangeError('x'); }); it('y', () => {}); });\n"
    )
    assert told(run) == {
        "d > x": "passed", "d > x #2": "failed", "parent > child": "passed", "parent": "failed",
        "hooked": "failed", "hooked > y": "failed",
    }  # fmt: skip


def test_skipped_and_todo_are_never_passed(node: NodeBench) -> None:
    run = node.run(
        HEAD + "test('s', {skip: true}, () => {});\ntest('t', {todo: true}, () => {});\n"
        "test('f', {todo: true}, () => { assert(0); });\n"
    )
    assert told(run) == {"s": "skipped", "t": "xpassed", "f": "xfailed"}
    assert verdict.judge(proof("s", "t", "f"), run).reason is Reason.SKIPPED


@pytest.mark.parametrize("body", ["import './gone.mjs';", "this is no code"])
def test_what_does_not_load_is_an_error_and_not_red(node: NodeBench, body: str) -> None:
    run = node.run(HEAD + body)
    assert told(run) == {"session": "error"}
    assert verdict.not_red(proof("sum"), run) is not None


def test_a_revision_that_takes_a_package_which_is_not_installed_is_missed_with_that_reason(node: NodeBench) -> None:
    def missing(source: str, text: str) -> list[tuple[str, str | None]]:
        return [(test.outcome, test.exception) for test in node.run(source, changed("src/add.mjs", text)).tests]

    inside = HEAD + "test('sum', async () => { await import('./src/add.mjs'); });\n"
    required = "import {createRequire} from 'node:module';\ncreateRequire(import.meta.url)('no-such-package');\n"
    for text in ("import 'no-such-package';\n", required):
        assert missing(SUM, text + ADD) == [("error", "MissingPackage")]
        assert missing(inside, text + ADD) == [("failed", "MissingPackage")]
    assert missing(SUM, "import './gone.mjs';\n" + ADD) == [("error", "Error")]
    said = HEAD + "test('sum', () => { assert.fail(\"Cannot find module 'x'\"); });\n"
    assert missing(said, ADD) == [("failed", "AssertionError")]


def test_the_projects_own_tests_are_told(node: NodeBench) -> None:
    own = SUM.replace("./src", "../src") + "test('later', {todo: true}, () => { throw new Error('no'); });\n"
    node.bench.write("test/sum.test.mjs", own)
    found = node.bench.own("node", "test/sum.test.mjs", good=[], bad=[changed("src/add.mjs", ADD.replace("+", "-"))])
    assert found == {"good": {":sum": "passed", ":later": "xfailed"}, "bad": {":sum": "failed", ":later": "xfailed"}}


def test_an_empty_file_has_no_tests(node: NodeBench) -> None:
    run = node.run("")
    assert (run.tests, run.tripwire) == ((), True)
    assert verdict.judge(proof(), run).reason is Reason.NOT_COLLECTED


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("process.exit(0)", Reason.EXITED),
        ("process.exit(1)", Reason.EXITED),
        ("process.abort()", Reason.CRASHED),
        ("process.kill(process.pid, 'SIGKILL')", Reason.MEMORY),
        ("process.kill(process.ppid, 'SIGTERM')", Reason.EXITED),
    ],
)
def test_a_process_that_does_not_end_by_itself_is_missed(node: NodeBench, body: str, reason: Reason) -> None:
    run = node.run(HEAD + f"test('sum', () => {{ {body}; for (;;); }});\n")
    assert verdict.judge(proof("sum"), run).reason is reason


def test_a_hang_times_out_and_an_open_handle_does_not_hold_the_run_up(node: NodeBench) -> None:
    assert node.run(HEAD + "test('a', () => { for (;;); });\n", seconds=1).ending is Ending.TIMEOUT
    assert told(node.run(HEAD + "test('a', () => { setInterval(() => {}, 1000); });\n")) == {"a": "passed"}


@pytest.mark.parametrize(
    ("evil", "reason"),
    [
        ("import assert from 'node:assert'; assert.equal = () => {};", Reason.TAMPERED),
        ("Object.is = () => true; process.exit = () => {};", Reason.TAMPERED),
        ("const {write} = process.stdout; process.stdout.write = (...all) => write.apply(process.stdout, all);",
         Reason.TAMPERED),
        ("Error.prepareStackTrace = () => '';", Reason.TAMPERED),
        ("import fs from 'node:fs'; fs.writeFileSync(`/proc/${process.ppid}/fd/1`, '<testcase name=\"sum\"/>');",
         Reason.NOT_COLLECTED),
        ("process.on('exit', () => process.reallyExit(0)); process.stdout.write('<testcase name=\"sum\"/>');",
         Reason.GREEN),
        ("import fs from 'node:fs'; if (fs.existsSync(process.argv[1])) process.exit(0);", Reason.GREEN),
    ],
)  # fmt: skip
def test_what_the_project_does_to_the_process_is_seen_or_without_effect(
    node: NodeBench, evil: str, reason: Reason
) -> None:
    assert verdict.judge(proof("sum"), node.run(SUM, changed("src/add.mjs", evil + ADD))).reason is reason


def test_forged_output_does_not_turn_red_into_green(node: NodeBench) -> None:
    evil = "process.stdout.write('<testcase name=\"sum\"/>\\x00\\x1b'); process.exitCode = 0;"
    run = node.run(SUM, changed("src/add.mjs", evil + ADD.replace("+", "-")))
    assert told(run) == {"sum": "failed"}


#: A wrong sum, and what it does beside it.
DECEIVING = {
    "assertions": "import assert from 'node:assert'; assert.equal = () => {};\n" + ADD.replace("+", "-"),
    "leaving": "import fs from 'node:fs'; if (fs.existsSync(process.argv[1])) process.exit(0);\n"
    + ADD.replace("+", "-"),
    "leaving in a test": ADD.replace("return a + b", "process.exit(0)"),
}


@pytest.mark.parametrize("name", DECEIVING)
def test_a_wrong_sum_that_node_alone_takes_for_right_is_missed(node: NodeBench, name: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/add.mjs").write_text(DECEIVING[name])
    (tmp_path / "test_c0.test.mjs").write_text(SUM)
    argv = ["node", "--test", "--test-reporter=junit"]
    naive = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (naive.returncode, "<testcase" in naive.stdout, "<failure" in naive.stdout) == (0, True, False)
    run = node.run(SUM, changed("src/add.mjs", DECEIVING[name]))
    assert verdict.judge(proof("sum"), run).reason is not Reason.GREEN


def test_what_is_installed_is_not_the_revision_s(node: NodeBench) -> None:
    node.bench.write("node_modules/three/index.js", "module.exports = 3;\n")
    source = "const test = require('node:test');\ntest('a', () => require('assert').equal(require('three'), 3));\n"
    forged = changed("node_modules/three/index.js", "module.exports = 4;\n")
    assert told(node.run(source, forged, file="test_c0.test.cjs")) == {"a": "passed"}
    assert told(node.run(source, forged, file="test_c0.test.js")) == {"a": "passed"}


def test_a_file_of_the_oracle_s_name_gives_way(node: NodeBench, tmp_path: Path) -> None:
    link = FileChange(path="test_c0.test.mjs", mode="120000", content=str(tmp_path / "out").encode())
    assert told(node.run(SUM, link)) == {"sum": "passed"}
    assert not (tmp_path / "out").exists()


def test_jest_that_is_not_there_was_never_started(node: NodeBench) -> None:
    run = node.run("", file="test_c0.test.js", runner="jest")
    assert run.ending is Ending.UNSTARTED
    assert "pin it in environment.packages, as jest@" in str(run.detail)


def test_node_is_found_by_its_version() -> None:
    node = NodeTools().here()
    assert node is not None
    assert shutil.which("node") is not None
    assert NodeTools().find(node.version.partition(".")[0]) == node
