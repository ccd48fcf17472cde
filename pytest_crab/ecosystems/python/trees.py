"""The syntax trees of Python code: the one place that calls its parser, which threads must not do side by side."""

from __future__ import annotations

import ast
import threading
import warnings

#: CPython before 3.11.9 and 3.12.2 counts how deep its parser is for all threads together, and fails where two of them
#: parse.
_PARSING = threading.Lock()

#: What is raised for code that this Python cannot read.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def read_python(source: str | bytes) -> ast.Module:
    """Return the syntax tree of Python code. Raises SyntaxError, ValueError, RecursionError, MemoryError."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_python(source: str | bytes) -> ast.Module | None:
    """Return the syntax tree of Python code; None for code that this Python cannot read."""
    try:
        return read_python(source)
    except UNREADABLE:
        return None


def first_line(node: ast.stmt) -> int:
    """Return the line that a statement begins on, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def bound_name(alias: ast.alias) -> str:
    """Return the name that a part of an import binds."""
    return (alias.asname or alias.name).partition(".")[0]
