"""One pull request that all reviewers are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_checkout import FakeCheckout
from pytest_crab.types import Category, Instance, Kind, PullRequestFacts, Side

BASE = {"calc.py": b"import os\n\n\ndef half(x):\n    return x / 2\n", "notes.txt": b"old\n"}
HEAD = {
    "calc.py": b"import os\n\n\ndef half(x, seen=[]):\n    seen.append(x)\n    return x / 2\n",
    "notes.txt": b"import os\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    return FakeCheckout(tmp_path / "checkout", head=HEAD, base=BASE)


@pytest.fixture
def instance(tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Any]) -> Instance:
    return tree_instance(
        tmp_path,
        "calc-1",
        tree_comment("c0", "calc.py", lines=(4, 5), body="The list is shared between calls."),
        tree_comment(
            "c1",
            "notes.txt",
            lines=(1, 1),
            side=Side.LEFT,
            body="Keep this.",
            category=Category.DOCUMENTATION,
            kind=Kind.STRUCTURAL,
        ),
        repo="example/calc",
        pull_request=PullRequestFacts(number=1, title="Remember"),
    )
