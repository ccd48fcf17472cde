"""Finds oracles that only start the project as a process, as their source says; such an oracle can be isolated."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from pytest_crab.ecosystems.python.trees import parse_python

#: What an oracle may import beside Python's library and still know nothing of the project.
_LIBRARIES = {"pytest", "hypothesis", "mock"}
#: What imports or runs by a name that no import statement holds.
_IMPORTERS = {"importlib", "runpy", "pkgutil", "__import__", "exec", "importorskip"}
_READERS = {"open", "Path", "PurePath"}
#: What asks for the folder that an oracle runs in: an isolated one does not run in the tree.
_FOLDERS = {"getcwd", "cwd"}


def only_starts_project(source: str) -> bool:
    """Return True if an oracle names Python as a program, imports nothing of a project and opens no file of it.

    One that asks where it runs counts on the tree too.
    """
    tree = parse_python(source)
    if tree is None:
        return False
    nodes = list(ast.walk(tree))
    if not _imported(nodes) <= (sys.stdlib_module_names | _LIBRARIES) - _IMPORTERS:
        return False
    if any(_name(node) in _IMPORTERS or _asks_folder(node) or _reads_file(node) for node in nodes):
        return False
    return any(
        _name(node) == "executable" or _is_text(node, "CRAB_PYTHON") or _is_text(node, "CRAB_PROGRAM") for node in nodes
    )


def _imported(nodes: list[ast.AST]) -> set[str]:
    """The first parts of all modules that are imported; a relative import is of the project."""
    return {name.partition(".")[0] for node in nodes for name in modules_of(node)}


def modules_of(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement imports; a point stands for what lies beside the file."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield "." if node.level else str(node.module)


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.alias):
        return node.name
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _asks_folder(node: ast.AST) -> bool:
    """Return True for a call such as os.getcwd(), and for an import of it; a variable may have such a name too."""
    asked = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, (ast.Call, ast.alias)) and _name(asked) in _FOLDERS


def _reads_file(node: ast.AST) -> bool:
    """Return True for a call such as open("setup.cfg"): the tree's files are not where an isolated oracle runs."""
    called = isinstance(node, ast.Call) and _name(node.func) in _READERS and bool(node.args)
    return called and isinstance(node.args[0], ast.Constant)  # type: ignore[attr-defined]


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text
