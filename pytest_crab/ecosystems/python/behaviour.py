"""The behaviour of a Python file, whatever its words, its types and what only tools read."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import CodeType

from pytest_crab.ecosystems.python.trees import bound_name, parse_python

#: The parts of a code that decide what it does, beside its constants.
_DECIDING = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount",
)  # fmt: skip
#: Annotations that say how a field is made, and not of which type it is.
_MARKS = ("ClassVar", "InitVar", "KW_ONLY")


@functools.lru_cache(maxsize=8)
def behaviour_of(path: str, source: bytes) -> object | None:
    """Return what a Python file compiles to, but for what no run of it shows; None where it cannot be read.

    Left out are docstrings, each ``pass`` beside other statements, annotations of functions, variables and fields of
    dataclasses, imports that nothing but types in the file uses (not of ``__init__.py``), ``__all__``, what the file
    does as a program, and where lines are.
    """
    tree = parse_python(source) if path.endswith(".py") else None
    if tree is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant may compare with "is" what should not be
            exports = PurePosixPath(path).name == "__init__.py"
            return _deciding(compile(_bare(tree, exports=exports), path, "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _deciding(code: CodeType) -> tuple[object, ...]:
    """Return what decides what a code does, which is equal for codes that do the same."""
    constants = (_deciding(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts)
    return (*(getattr(code, name) for name in _DECIDING), *constants)


def _bare(tree: ast.Module, *, exports: bool) -> ast.Module:
    """``exports``: others import from the file what it imports itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        fields = isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(one) for one in node.decorator_list)
        if fields or isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            _forget_types(node)
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            # Another statement in its place would stand before an import of __future__, which no file may have.
            node.body[:1] = [] if len(node.body) > 1 else [ast.copy_location(ast.Pass(), node.body[0])]
        for name in ("body", "orelse", "finalbody"):
            held = getattr(node, name, None)
            if isinstance(held, list) and len(held) > 1:
                setattr(node, name, [one for one in held if not isinstance(one, ast.Pass)] or held[:1])
    listed = [text for one in tree.body if _is_list_of_names(one) for text in ast.walk(one)]
    named = {text.value for text in listed if isinstance(text, ast.Constant)}
    tree.body = [left for one in tree.body for left in _run(one)]
    used = named | {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    for one in () if exports else tree.body:
        if isinstance(one, (ast.Import, ast.ImportFrom)) and getattr(one, "module", None) != "__future__":
            one.names = [name for name in one.names if bound_name(name) in {*used, "*"}]
    tree.body = [one for one in tree.body if not isinstance(one, (ast.Import, ast.ImportFrom)) or one.names]
    return tree


def _forget_types(scope: ast.AST) -> None:
    """Take the types of the variables of a function or a file, or of the fields of a class."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.AnnAssign) and not any(mark in ast.dump(one.annotation) for mark in _MARKS):
            one.annotation = ast.copy_location(ast.Constant(None), one.annotation)
        elif not isinstance(one, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting.extend(ast.iter_child_nodes(one))


def _run(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield of a statement of a file what is run where the file is imported."""
    if isinstance(statement, ast.If):
        asked = ast.unparse(statement.test)
        if asked in ("TYPE_CHECKING", "typing.TYPE_CHECKING") or asked.startswith("__name__ == "):
            yield from statement.orelse
            return
    if not _is_list_of_names(statement):
        yield statement


def _is_list_of_names(statement: ast.stmt) -> bool:
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets)
