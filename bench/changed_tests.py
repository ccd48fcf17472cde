"""Oracles from test patches: the tests that a patch adds or changes, as a file of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeGuard

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def changed_tests(before: str, after: str) -> tuple[str, ...]:
    """Return the names of the tests of ``after`` that ``before`` has not or has otherwise; methods as Class.name.

    Line numbers, comments and layout do not count. Raises SyntaxError, ValueError for a text that is no Python.
    """
    known = {name: ast.dump(test) for name, test in _tests(ast.parse(before))}
    return tuple(name for name, test in _tests(ast.parse(after)) if known.get(name) != ast.dump(test))


def keep_tests(source: str, names: Sequence[str]) -> str:
    """Return a test file with these tests only; all that is no test stays, since tests may use it.

    Raises SyntaxError, ValueError for a text that is no Python.
    """
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    wanted = set(names)
    owners: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for owner in owners:
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        dropped = [node for node in owner.body if _is_test(node) and f"{prefix}{node.name}" not in wanted]
        for node in dropped:
            _blank(lines, node)
        if dropped and len(dropped) == len(owner.body) and isinstance(owner, ast.ClassDef):
            lines[_first_line(dropped[0]) - 1] = f"{' ' * dropped[0].col_offset}pass\n"
    return "".join(line for line in lines if line)


def _blank(lines: list[str], node: _Function) -> None:
    for number in range(_first_line(node), (node.end_lineno or node.lineno) + 1):
        lines[number - 1] = ""


def _first_line(node: _Function) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _tests(tree: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in tree.body:
        if _is_test(node):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{test.name}", test) for test in node.body if _is_test(test))


def _is_test(node: ast.AST) -> TypeGuard[_Function]:
    return isinstance(node, _Function) and node.name.startswith("test")
