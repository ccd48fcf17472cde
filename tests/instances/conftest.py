"""A small sound instance on disk, to be broken in one place by each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

INSTANCE = """\
schema: 1
id: {id}
provenance: authored
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  tree: {{path: ../projects/shop, head: head.diff, reference: reference.diff}}
environment:
  dockerfile: python
  python: "3.11"
  packages: [pytest==8.3.4]
comments:
  - id: c0
    path: shop.py
    lines: [1, 2]
    body: This should say two.
    category: functional
    kind: behavioral
    oracle: oracles/test_c0.py
    reference: reference.diff
"""
HEAD = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n one\n-two\n+too\n"
REFERENCE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n one\n-too\n+two\n"


@pytest.fixture
def write_instance(tmp_path: Path) -> Callable[..., Path]:
    """Write an instance into the set tmp_path/set, with pieces of its file replaced; returns its file."""

    def write(name: str = "shop-7", *replacements: tuple[str, str]) -> Path:
        text = INSTANCE.format(id=name)
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        folder = tmp_path / "set" / name
        (folder / "oracles").mkdir(parents=True)
        (folder / "oracles" / "test_c0.py").write_text("def test_two() -> None:\n    assert True\n")
        (folder / "head.diff").write_text(HEAD)
        (folder / "reference.diff").write_text(REFERENCE)
        (folder / "instance.yaml").write_text(text)
        project = tmp_path / "set" / "projects" / "shop"
        project.mkdir(parents=True, exist_ok=True)
        (project / "shop.py").write_text("one\ntwo\n")
        return folder / "instance.yaml"

    return write
