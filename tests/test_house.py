"""The house rules of the package: docstrings that a newcomer can read, and lines that end as lines of code do."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pytest_crab"
#: A docstring that begins so asks a question, or leaves out its subject: it should say what something is or does.
RIDDLES = {"what", "who", "whether", "how", "that", "which", "where", "when", "why"}


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package, by its place in it."""
    found = PACKAGE.rglob("*.py")
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in found}


def documented() -> Iterator[tuple[str, str]]:
    """Every docstring, with its place."""
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield f"{name}:{getattr(node, 'name', 'module')}", text


def test_no_docstring_is_a_riddle() -> None:
    found = list(documented())
    assert len(found) > 1000
    assert [place for place, text in found if text.split()[0].strip(",.:").lower() in RIDDLES] == []


def test_no_docstring_only_points_elsewhere() -> None:
    # A method of a seam has ``override`` instead, and the seam's docstring with it.
    assert [place for place, text in documented() if re.match(r"See [\w.]+[.;:]", text)] == []


def test_lines_of_code_end_at_newlines_alone() -> None:
    # The exception reads bytes of a protocol, where a carriage return ends a line too.
    users = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    }
    assert users == {"models/event_streams.py"}, "text.split_lines is for code and diffs"
