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


def test_another_node_than_the_pinned_is_said_in_one_sentence(lab: Any) -> None:
    lab = cart(lab)
    lab.document["environment"]["node"] = "12"
    trial = lab.trial()
    assert "node 12 is needed, and the node on PATH is" in str(trial.error)
    with pytest.raises(ImageError, match="put node 12 first"):
        NodeTools().find("12")
