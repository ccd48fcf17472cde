"""A trial of a JavaScript project from its tree to its verdicts, without the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.errors import ImageError
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.node]

BASE = "export function total(prices) {\n  return prices.length;\n}\n"
ORACLE = """\
import assert from 'node:assert/strict';
import test from 'node:test';
import {total} from './src/cart.js';

test('an empty cart costs nothing', () => assert.equal(total([]), 0));
test('prices are added', () => assert.equal(total([1, 2]), 3));
"""


DIFF = """\
diff --git a/src/cart.js b/src/cart.js
--- a/src/cart.js
+++ b/src/cart.js
@@ -1,2 +1,2 @@
 const prices = process.argv.slice(2).map(Number);
-console.log(%s);
+console.log(%s);
"""


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/src/cart.js b/src/cart.js\n--- a/src/cart.js\n+++ b/src/cart.js\n@@ -1,3 +1,3 @@\n"
        f" export function total(prices) {{\n-  return {before};\n+  return {after};\n }}\n"
    )


def cart(lab: Any) -> Any:
    """Make the lab's instance a JavaScript one."""
    version = NodeTools().here()
    assert version is not None
    head, good = "prices.reduce((sum, price) => sum + price)", "prices.reduce((sum, price) => sum + price, 0)"
    lab.put("project/package.json", '{"type": "module", "scripts": {"test": "node --test"}}\n')
    lab.put("project/src/cart.js", BASE)
    lab.put("head.diff", diff("prices.length", head))
    lab.put("reference.diff", diff(head, good))
    lab.put("checks/near.diff", diff(head, "prices.length ? 3 : null"))
    lab.put("oracles/test_c0.test.js", ORACLE)
    lab.document["language"] = "javascript"
    lab.document["source"]["tree"]["path"] = "project"
    node = version.version.partition(".")[0]
    lab.document["environment"] = {"dockerfile": "node", "node": node, "timeout": "20"}
    lab.document["pass_to_pass"] = ["node", "-e", "import('./src/cart.js')"]
    (first, _) = lab.document["comments"]
    first |= {"path": "src/cart.js", "oracle": {"file": "oracles/test_c0.test.js", "runner": "node"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def node_base() -> None:
    """The base image of this machine's node."""
    build_base(NodeTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    good = BASE.replace("prices.length", "prices.reduce((sum, price) => sum + price, 0)")
    lab.acting({"src/cart.js": good})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["an empty cart costs nothing", "prices are added"]
    lab.acting({"src/cart.js": "process.exit(0);\n" + good})
    assert lab.reasons(lab.trial()) == {"c0": "exited early"}
    lab.acting({"src/cart.js": BASE})
    trial = lab.trial()
    assert lab.reasons(trial) == {"c0": "guard broke"}
    assert lab.left() == []


def test_a_javascript_instance_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_a_javascript_instance_is_proved_and_judged_in_docker(node_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))


#: An oracle that starts the project as a command, and one of its answers read out of the oracle.
COMMAND = """\
import assert from 'node:assert/strict';
import test from 'node:test';
import {spawnSync} from 'node:child_process';

const total = (...prices) => spawnSync(process.execPath, ['src/cart.js', ...prices], {encoding: 'utf8'}).stdout;

test('an empty cart costs nothing', () => assert.equal(total(), '0\\n'));
test('prices are added', () => assert.equal(total('1', '2'), '3\\n'));
"""
SUM = "const prices = process.argv.slice(2).map(Number);\nconsole.log(%s);\n"
READING = """\
import {readFileSync} from 'node:fs';
const asked = process.argv.slice(2).map(price => `'${price}'`).join(', ');
const text = readFileSync('test_c0.test.js', 'utf8');
console.log(text.split(`total(${asked}), '`)[1].split('\\\\n')[0]);
"""


def isolated(lab: Any, isolation: str) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    head, good = "prices.reduce((sum, price) => sum + price)", "prices.reduce((sum, price) => sum + price, 0)"
    lab.put("project/src/cart.js", SUM % "prices.length")
    for name, before, after in (("head.diff", "prices.length", head), ("reference.diff", head, good)):
        lab.put(name, DIFF % (before, after))
    lab.put("oracles/test_c0.test.js", COMMAND)
    (comment,) = lab.document["comments"]
    comment["oracle"]["isolation"] = isolation
    comment["rejects"] = []
    del lab.document["pass_to_pass"]
    lab.acting({"src/cart.js": SUM % good})
    trial = lab.trial()
    assert (trial.error, lab.reasons(trial)) == (None, {"c0": "green"})
    lab.acting({"src/cart.js": READING})
    assert lab.reasons(lab.trial()) == {"c0": "green" if isolation == "none" else "test failed"}
    assert lab.left() == []


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_an_isolated_oracle_is_out_of_reach_of_the_command_that_it_starts(lab: Any, isolation: str) -> None:
    isolated(lab, isolation)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_an_isolated_oracle_is_out_of_reach_in_docker(node_base: None, make_lab: Callable[..., Any]) -> None:
    isolated(make_lab("docker"), "process")


def test_another_node_than_the_pinned_is_said_in_one_sentence(lab: Any) -> None:
    lab = cart(lab)
    lab.document["environment"]["node"] = "12"
    trial = lab.trial()
    assert "node 12 is needed, and the node on PATH is" in str(trial.error)
    with pytest.raises(ImageError, match="put node 12 first"):
        NodeTools().find("12")
