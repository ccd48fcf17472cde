"""The house rules of the package: names and docstrings that a newcomer can read, modules that fit a screen or a few."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pytest_crab"
#: A docstring that begins so asks a question, or leaves out its subject: it should say what something is or does.
RIDDLES = {"what", "who", "whether", "how", "that", "which", "where", "when", "why"}
#: The longest module and function. The exception is a list of protocols that reads from top to bottom.
LINES, LINES_OF_FUNCTIONS = 425, 50
LONG = {"protocols.py": 450}


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


def test_no_two_public_classes_share_a_name() -> None:
    # What lies in a folder "inside" runs alone in a sandbox and imports nothing of the package.
    trees = (tree for name, tree in modules().items() if "/inside/" not in name)
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert names
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def test_modules_and_functions_are_short() -> None:
    long = {}
    for name, tree in modules().items():
        lines = len((PACKAGE / name).read_text("utf-8").splitlines())
        if lines > LONG.get(name, LINES):
            long[name] = lines
        for node in ast.walk(tree):
            size = (node.end_lineno or 0) - node.lineno + 1 if isinstance(node, ast.FunctionDef) else 0
            if size > LINES_OF_FUNCTIONS:
                long[f"{name}:{getattr(node, 'name', '')}"] = size
    assert long == {}


def test_lines_of_code_end_at_newlines_alone() -> None:
    # The exception reads bytes of a protocol, where a carriage return ends a line too.
    users = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    }
    assert users == {"models/event_streams.py"}, "text.split_lines is for code and diffs"
