"""Names of files in a tree that are a tool's, and not a project's."""

from __future__ import annotations

import re

import pytest

from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.ecosystems.patterns import Patterns


@pytest.mark.parametrize(
    "path",
    [
        *("__pycache__", "a/__pycache__/b.cpython-311.pyc", "a.pyc", "a/b.so", ".venv/bin/python", "a/.venv"),
        *("shop.egg-info/PKG-INFO", "src/shop.egg-info", "build/lib.linux-x86_64-cpython-311/a.py", ".coverage"),
        *(".coverage.host.12.abc", "node_modules/a/index.js", "web/node_modules", "web/tsconfig.tsbuildinfo"),
    ],
)
def test_what_tools_leave(path: str) -> None:
    assert re.search(leftover_patterns().expression, path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a.py",
            "build/a.py",
            "dist/a.js",
            "env/a.py",
            "venv/a.py",
            "coverage/a.py",
            "lib.es2015-a.d.ts",
            ".coveragerc",
        ),
        *("egg-info/a.py", "node_modules.md", "my__pycache__/a.py", "a.sob", "a.pyc.txt", ".env", "tox/a.py", "so"),
    ],
)
def test_what_is_source(path: str) -> None:
    assert not re.search(leftover_patterns().expression, path)


def test_a_star_stands_for_any_characters_of_one_name_and_nothing_else_does() -> None:
    found = re.compile(Patterns(names=("a.*-b",)).expression).search
    assert found("x/a.y-b/z")
    assert found("a.-b")
    assert not found("axy-b")
    assert not found("a.x/y-b")
