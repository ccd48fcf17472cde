"""Oracles from test patches: the tests that a patch adds or changes, and all that they may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

BEFORE = """\
import pytest

LIMIT = 3


@pytest.mark.parametrize("n", [1])
def test_old(n):
    assert n


class TestShop:
    def helper(self):
        return LIMIT

    def test_same(self):
        assert True

    def test_changed(self):
        assert self.helper() == 2


class TestOther:
    def test_other(self):
        assert True
"""
AFTER = BEFORE.replace("== 2", "== 3").replace("    assert n\n", "    assert n  # said\n") + (
    "\n\nasync def test_new():\n    assert LIMIT\n"
)


@pytest.fixture
def script(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("changed_tests")


def test_only_what_changed_counts_and_not_its_comments(script: Any) -> None:
    assert script.changed_tests(BEFORE, AFTER) == ("TestShop.test_changed", "test_new")
    assert script.changed_tests("", BEFORE) == (
        "test_old",
        "TestShop.test_same",
        "TestShop.test_changed",
        "TestOther.test_other",
    )


def test_the_rest_of_the_tests_is_left_out_and_helpers_stay(script: Any) -> None:
    kept = script.keep_tests(AFTER, script.changed_tests(BEFORE, AFTER))
    assert script.changed_tests("", kept) == ("TestShop.test_changed", "test_new")
    assert "def helper" in kept
    assert "LIMIT = 3" in kept
    assert "parametrize" not in kept
    compile(kept, "kept", "exec")
