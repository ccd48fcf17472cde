"""What an environment of node has to say, and what its images can run."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.node import Node
from pytest_crab.ecosystems.node.inside import own_tests, runner
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.harness.inside import reports
from pytest_crab.types import Oracle

SCRIPT = Oracle(file="test_c0.test.ts", runner="node")


def image(version: str) -> dict[str, str]:
    return {"tools": {"node": {"program": "/usr/bin/node", "version": version}}}


@pytest.mark.parametrize(
    ("facts", "oracle", "words"),
    [
        ({}, SCRIPT, "set environment.dockerfile to node"),
        ({}, Oracle(file="test_c0.test.js", runner="jest"), "pin jest"),
        (image("20.20.2"), SCRIPT, "22.6 or later"),
        (image("20.20.2"), Oracle(file="test_c0.test.mts", runner="node"), "22.6 or later"),
        (image("18.2.0"), SCRIPT, "20 or later"),
    ],
)
def test_what_an_image_cannot_run_is_said(facts: dict[str, str], oracle: Oracle, words: str) -> None:
    assert words in str(ecosystems.unsupported_reason(facts, oracle))


def test_an_image_runs_what_its_ecosystem_has() -> None:
    assert ecosystems.unsupported_reason(image("22.7.0"), SCRIPT) is None
    assert ecosystems.unsupported_reason({}, Oracle(file="test_c0.py")) is None


def test_typescript_is_asked_for_where_node_has_it_and_does_not_run_it_unasked() -> None:
    versions = ("20.1.0", "22.7.0", "22.18.0", "23.2.0", "24.0.0")
    asking = [version for version in versions if NodeTools().options(version) == ("--experimental-strip-types",)]
    assert asking == ["22.7.0", "23.2.0"]
    assert NodeTools().options("20.1.0") == ()


KARMA = """\
module.exports = config => config.set({
  frameworks: ['mocha'], reporters: ['progress'], browsers: ['Elsewhere'], captureTimeout: 0,
  plugins: ['karma-*', 'karma-gone'],
  files: ['help.js', {pattern: config.grep || '{hooks,}/test/{browser,shared}/**/*.test.js', watched: false}],
});
"""
CASES = """\
describe('cart', () => {
  it('is empty', () => { if (help !== 1) throw new Error('no help'); });
  it.skip('is full', () => {});
  describe('sum', () => it('is right', () => { throw new Error('wrong'); }));
});
"""


def test_what_karma_has_run_in_a_browser_is_told(tmp_path: Path, without: Callable[[str, str], NoReturn]) -> None:
    packages = Path(os.environ.get("CRAB_TEST_JEST", ""), "node_modules")
    if not (packages / "karma").is_dir() or shutil.which("chromium") is None:
        without("karma", "CRAB_TEST_JEST names no folder with karma, or there is no chromium")
    cases = ("test/browser/a.test.js", "test/browser/b.test.js", "test/node/c.test.js")
    for name, text in (("karma.conf.js", KARMA), ("help.js", "window.help = 1;\n"), *((name, CASES) for name in cases)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "node_modules").symlink_to(packages)
    report = tmp_path / "report"
    place = own_tests.karma_config(str(tmp_path), [cases[0], cases[2]], str(report))
    subprocess.run(["node", place], check=True)
    assert json.loads(report.read_text()) == [str(tmp_path / cases[0])]
    subprocess.run(["node", packages / "karma/bin/karma", "start", place], cwd=tmp_path, check=False)
    (told,) = json.loads(report.read_text())["testResults"]
    assert [(*each["ancestorTitles"], each["title"], each["status"]) for each in told["assertionResults"]] == [
        ("cart", "is empty", "passed"), ("cart", "is full", "pending"), ("cart", "sum", "is right", "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "words"),
    [("module.exports = () => { throw new Error('no'); };\n", "cannot be read here"), (KARMA, "needs a Chromium")],
    ids=["no configuration", "no browser"],
)
def test_where_karma_cannot_run_its_tests_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn], config: str, words: str
) -> None:
    packages = Path(os.environ.get("CRAB_TEST_JEST", ""), "node_modules")
    if not (packages / "karma").is_dir():
        without("karma", "CRAB_TEST_JEST names no folder with karma")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "karma start"}}')
    (tmp_path / "karma.conf.js").write_text(config)
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "overlay").mkdir()
    monkeypatch.setattr(own_tests, "BROWSERS", (str(tmp_path / "browser"),) * 2)

    def process(argv: list[str], env: dict[str, str], cwd: str, *_: object, **__: object) -> None:
        subprocess.run(argv, env=env, cwd=cwd, check=False, capture_output=True)

    tools = {"node": {"program": shutil.which("node")}}
    host = SimpleNamespace(folder=str(tmp_path), job={"tools": tools}, process=process, reports=reports)
    found = {(str(tmp_path), "karma"): ["test/browser/a.test.js"]}
    with pytest.raises(runner.MissingError, match=words):
        own_tests.in_browsers(runner, host, {}, found, math.inf)


def test_a_part_whose_script_names_a_karma_that_is_not_there_is_run_by_the_project_around_it(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "node_modules" / "mocha").mkdir(parents=True)
    for place, script in (("hooks", "karma start test/karma.conf.js"), ("", "mocha && karma start")):
        (tmp_path / place / "package.json").write_text(json.dumps({"scripts": {"test": script}}))
    file = "hooks/test/a.test.js"
    assert own_tests.projects(runner, str(tmp_path), [file]) == {(str(tmp_path), "mocha"): [file]}


def test_a_runner_has_the_variables_that_its_script_sets() -> None:
    scripts = {"test": "eslint . && cross-env A=1 TZ=UTC mocha test/*.js", "test:web": "B=2 karma start --single-run"}
    assert own_tests.variables(scripts, "mocha") == {"A": "1", "TZ": "UTC"}
    assert own_tests.variables(scripts, "karma")["B"] == "2"
    assert own_tests.variables(scripts, "jest") == {}
    scripts = {"ci": "A=1 jest", "test": "NODE_OPTIONS='--a --b' HERE=$PWD jest", "x": "sh -c 'C=1 mocha'"}
    assert own_tests.variables(scripts, "jest") == {"NODE_OPTIONS": "--a --b"}
    assert own_tests.variables(scripts, "mocha") == {}


STARTS = (
    "import test from 'node:test';\nimport {spawnSync} from 'node:child_process';\n"
    "spawnSync(process.execPath, ['x.js']);\n"
)


@pytest.mark.parametrize(
    "source",
    [
        STARTS,
        STARTS.replace("process.execPath", "process.env.CRAB_PROGRAM"),
        "const a = require('node:fs');\n" + STARTS,
    ],
)
def test_an_oracle_that_only_starts_the_project_can_be_isolated(source: str) -> None:
    assert Node().only_starts_project(source)


@pytest.mark.parametrize(
    "source",
    [
        STARTS.replace("process.execPath", "'bash'"),
        STARTS + "import {add} from './src/add.mjs';\n",
        STARTS + "const {add} = await import('./src/add.mjs');\n",
        STARTS + "const left = require('left-pad');\n",
        STARTS + "import './setup.mjs';\n",
        STARTS + "readFileSync('package.json');\n",
        STARTS + "const here = process.cwd();\n",
        STARTS + "assert(!existsSync('app.lock'));\n",
        STARTS + "readdirSync('.');\n",
        STARTS + "openSync('x', 'r');\n",
        STARTS + "execSync('cat src/x.js');\n",
        STARTS + "new Worker('./src/w.mjs');\n",
        STARTS + "await import(place);\n",
        STARTS + "import /* more */ './a.js';\n",
        STARTS + "new URL('./x.js', import.meta.url);\n",
    ],
)
def test_an_oracle_that_does_more_is_not_isolated(source: str) -> None:
    assert not Node().only_starts_project(source)
