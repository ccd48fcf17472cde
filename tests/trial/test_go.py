"""A trial of a Go project from its tree to its verdicts: the modules come when it is built, and nothing after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.go.tools import GoTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.go]

BASE = "package cart\n\nfunc Total(prices []int) int {\n\treturn len(prices)\n}\n"
ORACLE = """\
package cart

import "testing"

func TestEmpty(t *testing.T) {
	if Total(nil) != 0 {
		t.Error(Total(nil))
	}
}

func TestOne(t *testing.T) {
	if Total([]int{4}) != 4 {
		t.Error("one price is the total")
	}
}
"""
OWN = """\
package cart

import "testing"

func TestGift(t *testing.T) {
	if Total([]int{0}) != 0 {
		t.Error("a gift is free")
	}
}
"""


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/cart/cart.go b/cart/cart.go\n--- a/cart/cart.go\n+++ b/cart/cart.go\n@@ -1,5 +1,5 @@\n"
        f" package cart\n \n func Total(prices []int) int {{\n-\treturn {before}\n+\treturn {after}\n }}\n"
    )


def sums(start: str) -> str:
    return f"func() (sum int) {{ sum = {start}; for _, price := range prices {{ sum += price }}; return }}()"


def cart(lab: Any) -> Any:
    """Make the lab's instance one in Go."""
    found = GoTools().here()
    assert found is not None
    lab.put("project/go.mod", "module example.org/shop\n\ngo 1.21\n")
    lab.put("project/cart/cart.go", BASE)
    lab.put("head.diff", diff("len(prices)", sums("prices[0]")))
    lab.put("reference.diff", diff(sums("prices[0]"), sums("0")))
    lab.put("checks/near.diff", diff(sums("prices[0]"), "prices[0]"))
    lab.put("oracles/test_c0_test.go", ORACLE)
    lab.document["language"] = "go"
    lab.document["source"]["tree"]["path"] = "project"
    lab.document["environment"] = {"ecosystem": "go", "version": found.minor, "timeout": "120"}
    lab.put("project/cart/cart_test.go", OWN)
    lab.document["pass_to_pass"] = ["go-tests", "cart/cart_test.go"]
    (first, _) = lab.document["comments"]
    first |= {"path": "cart/cart.go"}
    first |= {"oracle": {"file": "oracles/test_c0_test.go", "runner": "go", "folder": "cart"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def go_base() -> None:
    """The base image of this machine's Go."""
    build_base(GoTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({"cart/cart.go": BASE.replace("len(prices)", sums("0"))})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["TestEmpty", "TestOne"]
    lab.acting({"cart/cart.go": BASE.replace("len(prices)", sums("1"))})
    trial = lab.trial()
    assert (lab.reasons(trial), trial.regressions) == ({"c0": "test failed"}, True)
    assert lab.left() == []


@pytest.mark.slow(reason="Go's own library is compiled anew")
def test_an_instance_in_go_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_an_instance_in_go_is_proved_and_judged_in_docker(go_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))
