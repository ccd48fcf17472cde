"""A trial of a Ruby project from its tree to its verdicts: its gems come when it is built."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.ruby.tools import RubyTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.ruby]

BASE = "module Cart\n  def self.total(prices)\n    prices.size\n  end\nend\n"
ORACLE = """\
require "cart"

RSpec.describe Cart do
  it("is empty") { expect(Cart.total([])).to eq 0 }
  it("has one price") { expect(Cart.total([4])).to eq 4 }
end
"""
#: The same of a command, which the oracle starts as another user.
STARTING = """\
require "open3"

def total(*prices) = Open3.capture2(ENV["CRAB_PROGRAM"], "-Ilib", "-rcart", "-e", "p Cart.total(#{prices})").first

RSpec.describe "cart" do
  it("is empty") { expect(total).to eq "0\\n" }
  it("has one price") { expect(total(4)).to eq "4\\n" }
end
"""


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/lib/cart.rb b/lib/cart.rb\n--- a/lib/cart.rb\n+++ b/lib/cart.rb\n@@ -1,5 +1,5 @@\n"
        f" module Cart\n   def self.total(prices)\n-    {before}\n+    {after}\n   end\n end\n"
    )


def cart(lab: Any) -> Any:
    """Make the lab's instance one in Ruby."""
    found = RubyTools().here()
    assert found is not None
    asked = ["ruby", "-e", 'print Gem::Specification.find_by_name("rspec").version']
    rspec = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    lab.put("project/lib/cart.rb", BASE)
    lab.put("head.diff", diff("prices.size", "prices[0] + prices.sum"))
    lab.put("reference.diff", diff("prices[0] + prices.sum", "prices.sum"))
    lab.put("checks/near.diff", diff("prices[0] + prices.sum", "prices[0]"))
    lab.put("oracles/test_c0_spec.rb", ORACLE)
    lab.document["language"] = "ruby"
    lab.document["source"]["tree"]["path"] = "project"
    packages = [f"rspec:{rspec}"]
    lab.document["environment"] = {"ecosystem": "ruby", "version": found.minor, "packages": packages, "timeout": "120"}
    lab.document["pass_to_pass"] = ["ruby", "-Ilib", "-rcart", "-e", "Cart.total([1])"]
    (first, _) = lab.document["comments"]
    first |= {"path": "lib/cart.rb"}
    first |= {"oracle": {"file": "oracles/test_c0_spec.rb", "runner": "rspec"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def ruby_base() -> None:
    """The base image of this machine's Ruby."""
    build_base(RubyTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({"lib/cart.rb": BASE.replace("prices.size", "prices.sum")})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["Cart > is empty", "Cart > has one price"]
    lab.acting({"lib/cart.rb": BASE.replace("prices.size", "prices.size")})
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    lab.acting({"lib/cart.rb": "class Integer\n  def ==(other) = true\nend\n" + BASE})
    assert lab.reasons(lab.trial()) == {"c0": "tampered"}
    lab.put("oracles/test_c0_spec.rb", STARTING)
    lab.document["comments"][0]["oracle"]["isolation"] = "process"
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    lab.acting({"lib/cart.rb": BASE.replace("prices.size", "prices.sum")})
    assert lab.reasons(lab.trial()) == {"c0": "green"}
    assert lab.left() == []


def test_an_instance_in_ruby_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_an_instance_in_ruby_is_proved_and_judged_in_docker(ruby_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))
