"""A trial of a Rust project from its tree to its verdicts: the crates come when it is built, and nothing after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.rust.tools import RustTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.rust]

MANIFEST = '[package]\nname = "cart"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nitoa = "=1.0.11"\n'
LOCK = """\
version = 3

[[package]]
name = "cart"
version = "0.1.0"
dependencies = [
 "itoa",
]

[[package]]
name = "itoa"
version = "1.0.11"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "49f1f14873335454500d59611f1cf4a4b0f786f9ac11f4312a78e4cf2566695b"
"""
BASE = "pub fn total(prices: &[u32]) -> u32 {\n    itoa::Buffer::new();\n    prices.len() as u32\n}\n\nmod wide;\n"
#: So many long names make the compiler's list of a crate's sources a large file, which it writes in place.
MODULES = [f"{'wide' * 30}{number}" for number in range(100)]
ORACLE = """\
use cart::total;

#[test]
fn empty() {
    assert_eq!(total(&[]), 0);
}

#[test]
fn one() {
    assert_eq!(total(&[4]), 4, "one price is the total");
}
"""


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,4 +1,4 @@\n"
        " pub fn total(prices: &[u32]) -> u32 {\n     itoa::Buffer::new();\n"
        f"-    {before}\n+    {after}\n }}\n"
    )


def cart(lab: Any) -> Any:
    """Make the lab's instance one in Rust."""
    found = RustTools().here()
    assert found is not None
    lab.put("project/Cargo.toml", MANIFEST)
    lab.put("project/Cargo.lock", LOCK)
    lab.put("project/src/lib.rs", BASE)
    lab.put("project/src/wide/mod.rs", "".join(f"mod {name};\n" for name in MODULES))
    for name in MODULES:
        lab.put(f"project/src/wide/{name}.rs", "")
    lab.put("head.diff", diff("prices.len() as u32", "prices[0] + prices.iter().skip(1).sum::<u32>()"))
    lab.put("reference.diff", diff("prices[0] + prices.iter().skip(1).sum::<u32>()", "prices.iter().sum()"))
    lab.put("checks/near.diff", diff("prices[0] + prices.iter().skip(1).sum::<u32>()", "prices[0]"))
    lab.put("oracles/test_c0.rs", ORACLE)
    lab.document["language"] = "rust"
    lab.document["source"]["tree"]["path"] = "project"
    lab.document["environment"] = {"ecosystem": "rust", "version": found.minor, "timeout": "120"}
    lab.document["pass_to_pass"] = ["cargo", "test", "--offline"]
    (first, _) = lab.document["comments"]
    first |= {"path": "src/lib.rs"}
    first |= {"oracle": {"file": "oracles/test_c0.rs", "runner": "cargo", "folder": "tests"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def rust_base() -> None:
    """The base image of this machine's Rust."""
    build_base(RustTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({"src/lib.rs": BASE.replace("prices.len() as u32", "prices.iter().copied().sum()")})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["empty", "one"]
    lab.acting({"src/lib.rs": BASE.replace("prices.len() as u32", "prices.iter().sum::<u32>() + 1")})
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    assert lab.left() == []


@pytest.mark.slow(reason="crates are fetched and compiled")
def test_an_instance_in_rust_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_an_instance_in_rust_is_proved_and_judged_in_docker(rust_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))
