"""A trial of a Java project from its tree to its verdicts: artifacts come when it is built, and nothing after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.java.tools import JavaTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [
    pytest.mark.bubblewrap, pytest.mark.java, pytest.mark.slow(reason="Maven builds the project on each runtime")
]  # fmt: skip

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>shop</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>11</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <build><plugins><plugin>
    <artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version>
  </plugin></plugins></build>
</project>
"""
PATH = "src/main/java/shop/Cart.java"
CART = """\
package shop;

public class Cart {
    public static int total(int... prices) {
        return %s;
    }
}
"""
ORACLE = """\
package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class CartOracle {
    @Test
    void empty() {
        assertEquals(0, Cart.total());
    }

    @Test
    void one() {
        assertEquals(4, Cart.total(4));
    }
}
"""


def diff(before: str, after: str) -> str:
    lines = (CART % "\n").splitlines()
    head = f"diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n@@ -1,7 +1,7 @@\n"
    above = "".join(f" {line}\n" for line in lines[:4])
    return f"{head}{above}-        return {before};\n+        return {after};\n     }}\n }}\n"


def sums(start: str) -> str:
    return f"{start} + java.util.Arrays.stream(prices).sum()"


def shop(lab: Any) -> Any:
    """Make the lab's instance one in Java."""
    found = JavaTools().here()
    assert found is not None
    lab.put("project/pom.xml", POM)
    lab.put(f"project/{PATH}", CART % "prices.length")
    lab.put("head.diff", diff("prices.length", sums("prices[0] * 0")))
    lab.put("reference.diff", diff(sums("prices[0] * 0"), sums("0")))
    lab.put("checks/near.diff", diff(sums("prices[0] * 0"), "prices[0]"))
    lab.put("oracles/test_c0.java", ORACLE)
    lab.document["language"] = "java"
    lab.document["source"]["tree"]["path"] = "project"
    version = found.version.partition(".")[0]
    lab.document["environment"] = {"ecosystem": "java", "version": version, "timeout": "120"}
    lab.document["pass_to_pass"] = ["mvn", "-o", "-q", "compile"]
    (first, _) = lab.document["comments"]
    first |= {"path": PATH}
    first |= {"oracle": {"file": "oracles/test_c0.java", "runner": "junit", "folder": "src/main/java/shop"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def java_base() -> None:
    """The base image of this machine's JDK and Maven."""
    build_base(JavaTools())


def judged(lab: Any) -> None:
    lab = shop(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({PATH: CART % sums("0")})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert sorted(test.id for test in trial.results[0].tests) == ["shop.CartOracle#empty", "shop.CartOracle#one"]
    lab.acting({PATH: CART % sums("1")})
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    assert lab.left() == []


def test_an_instance_in_java_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.docker
def test_an_instance_in_java_is_proved_and_judged_in_docker(java_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))
