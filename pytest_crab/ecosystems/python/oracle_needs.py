"""Finds what an oracle takes from outside its file, as its source says: fixtures, files, the project's own tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_crab.ecosystems.python.project_starts import modules_of
from pytest_crab.ecosystems.python.trees import parse_python
from pytest_crab.types import Comment

#: The fixtures of pytest itself, but for those of plugins that are off by default.
_OF_PYTEST = frozenset(
    (
        *("cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys", "doctest_namespace"),
        *("monkeypatch", "pytestconfig", "record_property", "record_testsuite_property", "record_xml_attribute"),
        *("recwarn", "request", "subtests", "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory"),
    )
)
_OF_TESTS = re.compile(r"(?:tests|conftest|test_\w+)(?:\.|$)")


def outside_needs(comment: Comment, source: str) -> Iterator[str]:
    """Yield a sentence, with the remedy, for each thing that a comment's oracle takes from outside its file.

    Only what its source says without doubt counts.
    """
    oracle, tree = comment.required_oracle, parse_python(source)
    if tree is None:
        return
    nodes = list(ast.walk(tree))
    if not oracle.plugins and not _takes_over(tree):
        for name in _unknown_fixtures(tree, nodes):
            yield (
                f"the oracle of {comment.id} asks for the fixture {name}, which neither pytest nor {oracle.file} has; "
                "a conftest.py is not read: define it in the file, or name its plugin in the oracle's plugins"
            )
    if any(isinstance(node, ast.Name) and node.id == "__file__" for node in nodes):
        yield (
            f"the oracle of {comment.id} looks for files beside itself (__file__), and nothing lies there when it "
            "runs: write the data into the file, or open it by its path in the tree, where an oracle begins"
        )
    for module in sorted({name for node in nodes for name in modules_of(node) if _OF_TESTS.match(name)}):
        yield (
            f"the oracle of {comment.id} imports {module} of the project's own tests, which a revision may change, and "
            "with it the verdict: copy what it needs into the file"
        )


def _takes_over(tree: ast.Module) -> bool:
    """Return whether arguments of tests may come from where a test does not say.

    That is all of a module, plugins that the file names, marks for all of its tests, and a hook that makes tests.
    """
    starred = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in tree.body)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return starred or bool(names & {"pytest_plugins", "pytestmark"}) or "pytest_generate_tests" in functions


def _unknown_fixtures(tree: ast.Module, nodes: Sequence[ast.AST]) -> list[str]:
    """Return the parameters of tests that nothing in the file gives, each once."""
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    renamed = {
        str(one.value.value)
        for node in nodes
        if isinstance(node, ast.Call)
        for one in node.keywords
        if one.arg == "name" and isinstance(one.value, ast.Constant)
    }
    imported = {
        one.asname or one.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for one in node.names
    }
    known = _OF_PYTEST | defined | renamed | imported
    asked = {name: None for test, marks in _tests(tree.body, ()) for name in _asked(test, marks) if name not in known}
    return list(asked)


def _tests(
    body: Sequence[ast.stmt], marks: Sequence[ast.expr]
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Sequence[ast.expr]]]:
    """Yield the tests of a module or of a plain class, with their decorators and those of the class."""
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not node.bases:
            yield from _tests(node.body, [*marks, *node.decorator_list])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            yield node, [*marks, *node.decorator_list]


def _named(mark: ast.expr) -> list[str] | None:
    """Return the names that a ``parametrize`` gives; None where its source does not say."""
    if not isinstance(mark, ast.Call) or not mark.args:
        return None
    try:
        told = ast.literal_eval(mark.args[0])
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    if isinstance(told, str):
        return re.split(r"\s*,\s*", told.strip())
    return list(map(str, told)) if isinstance(told, (list, tuple)) else None


def _asked(test: ast.FunctionDef | ast.AsyncFunctionDef, marks: Sequence[ast.expr]) -> list[str]:
    """Return the fixtures that a test asks for; none where a decorator is no mark, since it may give arguments."""
    names = [ast.unparse(mark.func if isinstance(mark, ast.Call) else mark) for mark in marks]
    if not all(name.startswith("pytest.mark.") for name in names):
        return []
    given: set[str] = set()
    for mark, name in zip(marks, names, strict=True):
        if name == "pytest.mark.parametrize":
            told = _named(mark)
            if told is None:
                return []
            given.update(told)
    parameters = [*test.args.posonlyargs, *test.args.args][: len(test.args.args) - len(test.args.defaults)]
    return [one.arg for one in parameters if one.arg not in {*given, "self", "cls"}]
