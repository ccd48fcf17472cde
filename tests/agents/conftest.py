"""One pull request that all agents are shown, with a reference for two of its comments."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_checkout import FakeCheckout
from pytest_crab.types import Comment, Instance, Oracle, PullRequestFacts, Side

LINES = [f"line {number}\n" for number in range(1, 61)]
ORACLE = Oracle(file="oracles/test_c.py")


def changed(number: int, text: str) -> str:
    """The git diff that replaces one line of numbers.txt."""
    after = [text if at == number else line for at, line in enumerate(LINES, 1)]
    return "diff --git a/numbers.txt b/numbers.txt\n" + "".join(
        difflib.unified_diff(LINES, after, "a/numbers.txt", "b/numbers.txt")
    )


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    head = {"numbers.txt": "".join(LINES).encode()}
    return FakeCheckout(tmp_path / "checkout", head=head, base={"numbers.txt": b"line 1\n"})


@pytest.fixture
def instance(tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Comment]) -> Instance:
    """Comments: near (10 to 12), far (50), left (5 on the left), long (20 to 45), bare (58, which has no reference)."""
    (tmp_path / "reference").mkdir()
    for name, number in {"near": 11, "far": 50, "left": 5, "long": 30}.items():
        (tmp_path / "reference" / f"{name}.diff").write_text(changed(number, f"{name}\n"))

    def comment(name: str, lines: tuple[int, int], *, side: Side = Side.RIGHT, reference: bool = True) -> Comment:
        known = f"reference/{name}.diff" if reference else None
        return tree_comment(name, "numbers.txt", lines=lines, side=side, oracle=ORACLE, reference=known)

    return tree_instance(
        tmp_path,
        "numbers-1",
        comment("near", (10, 12)),
        comment("far", (50, 50)),
        comment("left", (5, 5), side=Side.LEFT),
        comment("long", (20, 45)),
        comment("bare", (58, 58), reference=False),
        repo="example/numbers",
        pull_request=PullRequestFacts(number=1, title="Count"),
    )
