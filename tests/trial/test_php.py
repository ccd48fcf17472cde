"""A trial of a PHP project from its tree to its verdicts: composer finds its classes, and PHPUnit runs its oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.ecosystems.php.tools import PhpTools
from pytest_crab.runtimes import RuntimeSettings
from tests.trial.conftest import build_base

pytestmark = [pytest.mark.bubblewrap, pytest.mark.php]

COMPOSER = '{"name": "example/shop", "license": "MIT", "autoload": {"psr-4": {"Shop\\\\": "src/"}}}\n'
BASE = "<?php\nnamespace Shop;\n\nfinal class Cart\n{\n    public static function total(array $prices)\n    {\n"
END = "    }\n}\n"
ORACLE = """\
<?php
use PHPUnit\\Framework\\TestCase;
use Shop\\Cart;

final class TotalTest extends TestCase
{
    public function testNothing(): void
    {
        $this->assertSame(0, Cart::total([]));
    }

    public function testOnePrice(): void
    {
        $this->assertSame(4, Cart::total([4]));
    }
}
"""
WRONG, RIGHT = "array_sum($prices) + $prices[0] - $prices[0]", "array_sum($prices)"


def source(value: str) -> str:
    return f"{BASE}        return {value};\n{END}"


def diff(before: str, after: str) -> str:
    return (
        "diff --git a/src/Cart.php b/src/Cart.php\n--- a/src/Cart.php\n+++ b/src/Cart.php\n@@ -5,6 +5,6 @@\n {\n"
        f"     public static function total(array $prices)\n     {{\n-        return {before};\n"
        f"+        return {after};\n     }}\n }}\n"
    )


def cart(lab: Any) -> Any:
    """Make the lab's instance one in PHP."""
    found = PhpTools().here()
    assert found is not None
    lab.put("project/composer.json", COMPOSER)
    lab.put("project/src/Cart.php", source("count($prices)"))
    lab.put("head.diff", diff("count($prices)", WRONG))
    lab.put("reference.diff", diff(WRONG, RIGHT))
    lab.put("checks/near.diff", diff(WRONG, "max($prices)"))
    lab.put("oracles/test_c0.php", ORACLE)
    lab.document["language"] = "php"
    lab.document["source"]["tree"]["path"] = "project"
    lab.document["environment"] = {"ecosystem": "php", "version": found.minor, "timeout": "120"}
    lab.document["pass_to_pass"] = ["php", "-l", "src/Cart.php"]
    (first, _) = lab.document["comments"]
    first |= {"path": "src/Cart.php", "lines": ["8", "8"]}
    first |= {"oracle": {"file": "oracles/test_c0.php", "runner": "phpunit"}}
    first |= {"accepts": [], "rejects": ["checks/near.diff"]}
    lab.document["comments"] = [first]
    return lab


@pytest.fixture(scope="module")
def php_base() -> None:
    """The base image of this machine's PHP."""
    build_base(PhpTools())


def judged(lab: Any) -> None:
    lab = cart(lab)
    lab.changes["settings"] = RuntimeSettings()
    lab.acting({"src/Cart.php": source(RIGHT)})
    trial = lab.trial()
    assert (trial.error, trial.regressions) == (None, False)
    assert lab.reasons(trial) == {"c0": "green"}
    assert [test.id for test in trial.results[0].tests] == ["TotalTest::testNothing", "TotalTest::testOnePrice"]
    moved = {"lib/Cart.php": source(RIGHT), "composer.json": COMPOSER.replace("src/", "lib/")}
    lab.acting(moved, before="mkdir lib")
    assert lab.reasons(lab.trial()) == {"c0": "green"}
    lab.acting({"src/Cart.php": source("1")})
    assert lab.reasons(lab.trial()) == {"c0": "test failed"}
    assert lab.left() == []


def test_an_instance_in_php_is_proved_and_judged(lab: Any) -> None:
    judged(lab)


@pytest.mark.slow(reason="an image is built, and each state is run in a container")
@pytest.mark.docker
def test_an_instance_in_php_is_proved_and_judged_in_docker(php_base: None, make_lab: Callable[..., Any]) -> None:
    judged(make_lab("docker"))
