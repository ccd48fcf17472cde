"""Oracles under node's runner that run as another user and start the project as a command."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Isolation, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.node

ADD = "console.log(process.argv.slice(2).map(Number).reduce((a, b) => a + b, 0));\n"
ORACLE = """\
import test from 'node:test';
import assert from 'node:assert';
import {existsSync} from 'node:fs';
import {spawn, spawnSync} from 'node:child_process';

const add = (...words) => spawnSync(process.execPath, ['src/add.mjs', ...words], {encoding: 'utf8'});

test('sum', () => assert.equal(add('1', '2').stdout, '3\\n'));
"""


class IsolatedNode:
    """The harness's bench with a node, and a project that is a command."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.write("src/add.mjs", ADD)
        node = NodeTools().here()
        assert node is not None
        bench.facts = {**bench.facts, "tools": {"node": dataclasses.asdict(NodeTools().placed(node, ""))}}

    def run(self, source: str, *changes: FileChange, isolation: Isolation = Isolation.PROCESS) -> Run:
        oracle = Oracle(file="oracles/test_c0.test.mjs", runner="node", isolation=isolation)
        run = harness.OracleRun(id="c0", state="now", seconds=30, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def node(bench: Bench) -> IsolatedNode:
    return IsolatedNode(bench)


def test_the_project_is_started_by_node_in_its_own_state(node: IsolatedNode) -> None:
    green = node.run(ORACLE)
    assert (green.ending, green.tripwire, green.altered) == (Ending.COMPLETED, True, ())
    assert verdict.judge(proof("sum"), green).reason is Reason.GREEN
    red = node.run(ORACLE, changed("src/add.mjs", "console.log(0);\n"))
    assert told(red) == {"sum": "failed"}


def test_streams_signals_and_statuses_come_through(node: IsolatedNode) -> None:
    source = ORACLE + (
        "test('all', async () => {\n"
        "  const done = spawnSync(process.execPath, ['src/echo.mjs'], {input: 'a', encoding: 'utf8'});\n"
        "  assert.deepEqual([done.stdout, done.stderr, done.status], ['a', 'said', 3]);\n"
        "  const server = spawn(process.execPath, ['-e', \"console.log('up'); setInterval(() => {}, 1000)\"]);\n"
        "  await new Promise(resolve => server.stdout.once('data', resolve));\n"
        "  const ended = new Promise(resolve => server.once('exit', (code, signal) => resolve(signal)));\n"
        "  server.kill();\n"
        "  assert.equal(await ended, 'SIGTERM');\n"
        "});\n"
    )
    node.bench.write("src/echo.mjs", "process.stdin.pipe(process.stdout); console.error = 0;\n"
                     "process.stderr.write('said'); process.exitCode = 3;\n")  # fmt: skip
    assert told(node.run(source)) == {"sum": "passed", "all": "passed"}


def test_nothing_of_the_project_is_in_reach_of_the_oracle(node: IsolatedNode) -> None:
    source = ORACLE + "test('none', async () => { assert(!existsSync('src')); await import('./src/add.mjs'); });\n"
    run = node.run(source)
    assert told(run) == {"sum": "passed", "none": "failed"}


def test_each_state_is_built_before_its_oracle_runs(node: IsolatedNode) -> None:
    node.bench.build = ("mkdir dist", "cp src/add.mjs dist/add.mjs")
    source = ORACLE.replace("src/add.mjs", "dist/add.mjs")
    assert told(node.run(source)) == {"sum": "passed"}
    assert told(node.run(source, changed("src/add.mjs", "console.log(0);\n"))) == {"sum": "failed"}
    broken = node.run(source, FileChange(path="src/add.mjs", mode="100644", content=None))
    assert broken.ending is Ending.UNINSTALLED
    assert "src/add.mjs" in str(broken.detail)


@pytest.mark.parametrize(("isolation", "lies_there"), [(Isolation.PROCESS, False), (Isolation.NONE, True)])
def test_a_program_of_the_project_can_read_the_oracle_only_without_isolation(
    node: IsolatedNode, isolation: Isolation, *, lies_there: bool
) -> None:
    node.bench.write("src/list.mjs", "import {readdirSync} from 'node:fs'; console.log(readdirSync('.').join());\n")
    source = ORACLE + (
        "test('list', () => {\n"
        "  const {stdout} = spawnSync(process.execPath, ['src/list.mjs'], {encoding: 'utf8'});\n"
        f"  assert.equal(stdout.includes('test_c0'), {str(lies_there).lower()});\n"
        "});\n"
    )
    assert told(node.run(source, isolation=isolation)) == {"sum": "passed", "list": "passed"}


@pytest.mark.parametrize("isolation", Isolation)
@pytest.mark.parametrize("build", [None, ("echo 'export default 3' > node_modules/sum/index.js",)])
def test_installed_packages_are_the_environments(
    node: IsolatedNode, isolation: Isolation, build: tuple[str, ...] | None
) -> None:
    node.bench.build = build
    node.bench.write("node_modules/sum/package.json", '{"name": "sum", "type": "module", "main": "index.js"}\n')
    node.bench.write("node_modules/sum/index.js", "export default 0\n")
    changes = [changed("src/add.mjs", "import sum from 'sum';\nconsole.log(sum);\n")]
    if build is None:
        changes.append(changed("node_modules/sum/index.js", "export default 3\n"))
    assert told(node.run(ORACLE, *changes, isolation=isolation)) == {"sum": "failed"}


def test_the_program_is_node_itself_without_isolation(node: IsolatedNode) -> None:
    source = ORACLE.replace("process.execPath", "process.env.CRAB_PROGRAM")
    for isolation in Isolation:
        assert told(node.run(source, isolation=isolation)) == {"sum": "passed"}
