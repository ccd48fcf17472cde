"""Parts of Python code by its syntax tree: what is around changed lines, and who imports a changed file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from pytest_crab.ecosystems.python.trees import bound_name, first_line, parse_python
from pytest_crab.text import split_lines, windows

#: Folders that are no part of a module's name.
_ROOTS = {"src", "lib", "python"}
_SIGNATURE = re.compile(r"\s*(?:(?:async\s+)?def|class|assert)\b|\s*@(?:\w+\.)*fixture\b")

_Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def enclosing_parts(source: str, lines: Collection[int]) -> list[str]:
    """Return the innermost functions and classes of Python code around ``lines``, with the imports that they use first.

    A line of no function or class stands in its window, and so do all lines of code that cannot be read.
    """
    tree = parse_python(source)
    if tree is None:
        return windows(source, lines)
    known = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    around = {line: _innermost(known, line) for line in set(lines)}
    nodes = {node for node in around.values() if node is not None}
    found: list[_Node] = sorted(nodes, key=lambda node: node.lineno)
    outside = [line for line, node in around.items() if node is None]
    texts = split_lines(source)
    parts = ["\n".join(texts[first_line(node) - 1 : node.end_lineno]) for node in found]
    used = {name.id for node in found for name in ast.walk(node) if isinstance(name, ast.Name)}
    imports = "\n".join(
        "\n".join(texts[node.lineno - 1 : node.end_lineno])
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and used & set(map(bound_name, node.names))
    )
    return [part for part in (imports, *parts, *windows(source, outside)) if part]


def module_name(path: str) -> str:
    """Return the dotted name that a Python file is imported by."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[0] in _ROOTS:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts and parts[-1] == "__init__" else parts)


def importers(files: Mapping[str, str], changed: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each Python file that imports one of the ``changed`` ones, with its import and the code that uses it."""
    wanted = {module_name(path) for path in changed if path.endswith(".py")} - {""}
    for path, source in files.items():
        if not path.endswith(".py") or path in changed or not any(name.rpartition(".")[2] in source for name in wanted):
            continue
        tree = parse_python(source)
        bound = set() if tree is None else _imported_names(tree, path, wanted)
        if tree is not None and bound:
            lines = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in bound}
            yield path, enclosing_parts(source, lines) or [_import_lines(tree, source, bound)]


def signatures_of_tests(source: str) -> str:
    """Return the lines of a test file that say what is tested: def, class, assert and fixtures."""
    return "\n".join(line for line in split_lines(source) if _SIGNATURE.match(line))


def _innermost(known: Iterable[_Node], line: int) -> _Node | None:
    around = [node for node in known if first_line(node) <= line <= (node.end_lineno or node.lineno)]
    return max(around, key=lambda node: node.lineno, default=None)


def _imported_names(tree: ast.Module, path: str, wanted: Collection[str]) -> set[str]:
    """Return the names that a file binds to ``wanted`` modules or to what it takes of them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {bound_name(alias) for alias in node.names if alias.name in wanted}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            whole = base in wanted
            names |= {bound_name(alias) for alias in node.names if whole or f"{base}.{alias.name}" in wanted}
    return names


def _absolute(node: ast.ImportFrom, path: str) -> str:
    """Return the dotted name that a file imports from, with its dots resolved."""
    if not node.level:
        return node.module or ""
    package = module_name(path).split(".")
    depth = node.level - (PurePosixPath(path).name == "__init__.py")
    return ".".join([*package[: len(package) - depth], *([node.module] if node.module else [])])


def _import_lines(tree: ast.Module, source: str, bound: Collection[str]) -> str:
    texts = split_lines(source)
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return "\n".join(texts[node.lineno - 1] for node in nodes if set(map(bound_name, node.names)) & set(bound))
