"""Oracles under a real jest, which CRAB_TEST_JEST names by the folder that its node_modules lies in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Oracle, Reason, Run
from tests.harness.conftest import proof

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.node

JEST = "CRAB_TEST_JEST"
SUM = "const {add} = require('./add');\ntest('sum', () => { expect(add(1, 2)).toBe(3); });\n"
ADD = "exports.add = (a, b) => {\n  return a + b;\n};\n"


@pytest.fixture
def jest(bench: Bench, without: Callable[[str, str], NoReturn]) -> Bench:
    """The harness's bench with a node and a jest."""
    if not os.environ.get(JEST):
        without("jest", f"{JEST} names no folder with a jest")
    node = NodeTools().here()
    assert node is not None
    bench.facts = {"tools": {"node": dataclasses.asdict(NodeTools().placed(node, ""))}}
    bench.write("add.js", ADD)
    bench.write("package.json", '{"private": true}')
    (bench.folder / "tree" / "node_modules").symlink_to(Path(os.environ[JEST]) / "node_modules")
    return bench


def runs(bench: Bench, *sources: str, file: str = "test_c0.test.js", **changes: str) -> list[Run]:
    oracle = Oracle(file=f"oracles/{file}", runner="jest")
    asked = [
        harness.OracleRun(id=str(number), state="now", seconds=60, oracle=oracle, source=source)
        for number, source in enumerate(sources)
    ]
    edits = [FileChange(path=f"{name}.js", mode="100644", content=text.encode()) for name, text in changes.items()]
    report = bench.report(asked, now=edits)
    assert report.problems == ()
    return list(report.runs)


def test_each_outcome_and_each_ending_has_its_name(jest: Bench) -> None:
    mixed = (
        SUM + "describe('d', () => {\n  test('x', () => { expect(add(1, 2)).toBe(4); });\n"
        "  test('y', () => { add.gone(); });\n});\n"
        "test.skip('s', () => {});\ntest.todo('t');\n"
    )
    said, lost, left, empty = runs(jest, mixed, "require('./gone');", "test('sum', () => { process.exit(0); });", "")
    assert (said.ending, said.exit_code, said.tripwire) == (Ending.COMPLETED, 1, True)
    assert {test.id: test.outcome for test in said.tests} == {
        "sum": "passed", "d > x": "failed", "d > y": "failed", "s": "skipped", "t": "skipped"
    }  # fmt: skip
    assert [(test.id, test.outcome) for test in lost.tests] == [("session", "error")]
    assert verdict.judge(proof("sum"), left).reason is Reason.EXITED
    assert verdict.judge(proof(), empty).reason is Reason.NOT_COLLECTED


def test_green_is_caught_and_red_says_where(jest: Bench) -> None:
    (green,) = runs(jest, SUM)
    assert verdict.judge(proof("sum"), green).reason is Reason.GREEN
    (red,) = runs(jest, SUM, add=ADD.replace("return a + b", "throw new TypeError('no')"))
    assert [(test.outcome, test.exception, test.where) for test in red.tests] == [("failed", "TypeError", "add.js:2")]


def test_a_project_that_makes_every_expectation_pass_has_tampered(jest: Bench) -> None:
    evil = "expect.extend({toBe: () => ({pass: true, message: () => ''})});\n"
    (run,) = runs(jest, SUM, add=evil + ADD.replace("+", "-"))
    assert verdict.judge(proof("sum"), run).reason is Reason.TAMPERED
