"""Tell tests in Python that look at source or at an interface from those that run the code, by their text alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from pytest_crab.ecosystems.python.trees import parse_python

#: Not the tested project's: the standard library, whatever version runs this, and what tests are written with.
_FOREIGN = frozenset(sys.stdlib_module_names) | {"asynchat", "asyncore", "distutils", "imp", "mock", "pytest", "smtpd"}

#: Names that read source, or ask what an interface looks like, instead of using it.
_READS = frozenset({"open", "read_text", "read_bytes", "readlines", "getsource", "getsourcelines", "getsourcefile"})
_LOOKS = frozenset(
    {"hasattr", "signature", "getfullargspec", "getdoc", "get_type_hints", "__doc__", "__annotations__", "__code__"}
)
_STRUCTURAL = _READS | _LOOKS


def is_structural(source: str) -> bool:
    """Return whether a test is structural.

    Behavioral: it imports something that is neither the standard library nor a test library, and neither reads a file,
    nor asks for source, nor looks at an interface (hasattr, signature, __doc__, annotations). Structural: all else.
    """
    tree = parse_python(source)
    if tree is None:
        return True
    imports = any(name not in _FOREIGN for name in _imported_names(tree))
    looks = any(name in _STRUCTURAL for name in _used_names(tree))
    return looks or not imports


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _used_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
