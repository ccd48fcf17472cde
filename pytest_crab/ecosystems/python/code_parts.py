"""Parts of Python code as pytest takes it: the tests of a file, the file without some, what tests ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pytest_crab.ecosystems.contract import WORDING, TestLines
from pytest_crab.ecosystems.python.trees import bound_name, first_line, parse_python
from pytest_crab.text import split_lines, whole_lines, without_lines

#: The fixtures that pytest has without any file of the project.
_BUILT_IN = frozenset({
    "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "doctest_namespace", "monkeypatch",
    "pytestconfig", "record_property", "recwarn", "request", "self", "cls", "tmp_path", "tmp_path_factory", "tmpdir",
    "tmpdir_factory",
})  # fmt: skip

#: Where projects keep what their tests share.
_OF_TESTS = frozenset({"tests", "test", "testing", "conftest"})

#: What a test waits for an error with, and a docstring that names an issue and no more.
_RAISES = (".raises", ".assertRaises", ".assertRaisesRegex")
_NUMBER = re.compile(r"(?:#|issue |https?://\S+/)\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCode(TestLines):
    """A test of a file, named as in ``test_a`` and ``TestB::test_a``; its decorators are among its lines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a file of Python. Raises ValueError."""
    tree = parse_python(text)
    if tree is None:
        raise ValueError("it is no Python that can be read here")
    return tree


def tests_of(text: str) -> list[TestCode]:
    """Return the tests of a file of Python. Raises ValueError."""
    return list(_tests(parse(text).body, ""))


def _tests(body: Sequence[ast.stmt], within: str) -> Iterator[TestCode]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{within}{node.name}::")
        elif _is_test(node):
            yield TestCode(name=f"{within}{node.name}", first=first_line(node), last=_last(node), node=node)


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return whether pytest takes a statement for a test: a function with such a name that is no fixture."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not node.name.startswith("test"):
        return False
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return not any(ast.unparse(each).rpartition(".")[2] in ("fixture", "yield_fixture") for each in called)


def _last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def without(text: str, names: Collection[str]) -> str:
    """Return a file without these tests; a class that loses all it has goes too. Raises ValueError."""
    gone = [(one.first, one.last) for one in tests_of(text) if one.name in names]
    left = without_lines(text, gone)
    try:
        parse(left)
    except ValueError:  # a class without a body
        empty = [
            (first_line(node), _last(node))
            for node in parse(text).body
            if isinstance(node, ast.ClassDef) and all(_within(each, gone) for each in node.body)
        ]
        left = without_lines(text, [*gone, *empty])
    return left


def _within(node: ast.stmt, spans: Sequence[tuple[int, int]]) -> bool:
    return any(first <= node.lineno and _last(node) <= last for first, last in spans)


def alone(text: str, names: Collection[str]) -> str:
    """Return a file with these tests alone, and what they need of the rest. Raises ValueError."""
    own = without(text, [one.name for one in tests_of(text) if one.name not in names])
    tree = parse(own)
    needed = _needed(tree)
    lines = whole_lines(own)
    kept: list[str] = []
    end = 0
    for node in tree.body:
        first, last = first_line(node), _last(node)
        between = [line for line in lines[end : first - 1] if line.strip()]
        end = last
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_future(node):
            wanted = [each for each in node.names if each.name == "*" or bound_name(each) in needed]
            if wanted:
                kept += [f"{ast.unparse(_imported(node, wanted))}\n"]
        elif _is_needed(node, needed):
            apart = ["\n", "\n"] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else ["\n"]
            kept += [
                *(apart if kept else []),
                *(line for line in between if line.startswith("#")),
                *lines[first - 1 : last],
            ]
    return "".join(kept).rstrip() + "\n"


def _imported(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import(names=names)
    return ast.ImportFrom(module=node.module, names=names, level=node.level)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_needed(node: ast.stmt, needed: frozenset[str]) -> bool:
    bound = _binds(node)
    return not bound or not needed.isdisjoint(bound)


def _binds(node: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a file binds; none for one that is there for what it does."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name, *_fixture_names(node)]
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _fixture_names(node: ast.stmt) -> list[str]:
    """Return the names that fixtures get by their decorator."""
    return [
        each.value.value
        for decorator in getattr(node, "decorator_list", [])
        for each in ast.walk(decorator)
        if isinstance(each, ast.keyword)
        and each.arg == "name"
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
    ]


def _needed(tree: ast.Module) -> frozenset[str]:
    """Return the names that the tests of a file use, with all that what they name uses in turn."""
    uses = {id(node): _uses(node) for node in tree.body}
    names = {"pytestmark", "pytest_plugins", "__all__"}
    names |= {name for node in tree.body if _is_root(node) for name in (*_binds(node), *uses[id(node)])}
    while True:
        more = {
            name
            for node in tree.body
            if not isinstance(node, (ast.Import, ast.ImportFrom)) and (not _binds(node) or names & set(_binds(node)))
            for name in uses[id(node)]
        }
        if more <= names:
            return frozenset(names)
        names |= more


def _is_root(node: ast.stmt) -> bool:
    """Return whether a statement is a test, holds tests, or is a fixture that needs no asking."""
    if isinstance(node, ast.ClassDef):
        return any(True for _ in _tests([node], ""))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _is_test(node) or any("autouse" in ast.dump(each) for each in node.decorator_list)
    return False


def _uses(node: ast.stmt) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    found |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return found | {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier()
    }


def stands_alone(text: str) -> bool:
    """Return whether a file of tests asks for nothing of the project's other tests: no fixture, plugin or helper.

    Raises ValueError.
    """
    tree = parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    fixtures = {name for node in functions for name in _binds(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test"):
            return False
        modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        near = isinstance(node, ast.ImportFrom) and node.level > 0
        if near or any(module.partition(".")[0] in _OF_TESTS for module in modules):
            return False
    asked = {each.arg for one in tests_of(text) for each in _arguments(one.node)}
    return asked <= fixtures | _BUILT_IN | _parametrized(tree)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _parametrized(tree: ast.Module) -> set[str]:
    """Return every word that a file's decorators have as a text, the names of parameters among them."""
    decorators = (each for node in ast.walk(tree) for each in getattr(node, "decorator_list", []))
    texts = (
        each.value
        for decorator in decorators
        for each in ast.walk(decorator)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )
    return {word.strip() for text in texts for word in text.split(",")}


def added_names(before: str, after: str) -> frozenset[str]:
    """Return what a file's new text defines and its old one does not: functions, classes, parameters, attributes.

    Raises ValueError.
    """
    return _defined(parse(after)) - _defined(parse(before))


def _defined(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        if isinstance(node, (ast.Module, ast.ClassDef)):
            found.update(
                name for each in node.body if isinstance(each, (ast.Assign, ast.AnnAssign)) for name in _binds(each)
            )
    return frozenset(found)


def _asks_for(test: TestCode, names: Collection[str]) -> bool:
    """Return whether a test uses one of these names: as an attribute, a parameter, or by itself."""
    own = {each.id for each in ast.walk(test.node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in ast.walk(test.node) if isinstance(each, ast.arg)}
    for node in ast.walk(test.node):
        used = (
            node.attr
            if isinstance(node, ast.Attribute)
            else node.arg
            if isinstance(node, ast.keyword)
            else node.id
            if isinstance(node, ast.Name) and node.id not in own
            else None
        )
        if used in names:
            return True
    return False


def added_texts(before: str, after: str) -> frozenset[str]:
    """Return the wordings (texts of several words) that a file's new text has and its old one has not.

    Raises ValueError.
    """
    return _wordings(parse(after)) - _wordings(parse(before))


def _wordings(tree: ast.AST) -> frozenset[str]:
    nodes = list(ast.walk(tree))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings: they are held against nothing
    texts = (
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    )
    return frozenset(text.strip() for text in texts if len(text.split()) >= WORDING)


def asking(text: str, names: Collection[str], wordings: Collection[str]) -> frozenset[str]:
    """Return the names of those tests that use one of these names, or hold something against a wording.

    Raises ValueError.
    """
    return frozenset(one.name for one in tests_of(text) if _asks_for(one, names) or _pins(one, wordings))


def _pins(test: TestCode, wordings: Collection[str]) -> bool:
    """Return whether a test holds something against one of these wordings, or a part of one."""
    return any(own in one or one in own for own in _wordings(test.node) for one in wordings)


def comment_lines(text: str) -> frozenset[int]:
    """Return the lines of a file that are comments and nothing else."""
    return frozenset(at for at, line in enumerate(split_lines(text), 1) if line.lstrip().startswith("#"))


def idle_lines(text: str) -> frozenset[int]:
    """Return the lines that do nothing: comments, docstrings, imports, blank ones; empty if the file is no Python."""
    try:
        tree = parse(text)
    except ValueError:
        return frozenset()
    found = {at for at, line in enumerate(split_lines(text), 1) if not line.strip()} | comment_lines(text)
    for node in ast.walk(tree):
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if said or isinstance(node, (ast.Import, ast.ImportFrom)):
            assert isinstance(node, ast.stmt)
            found.update(range(node.lineno, _last(node) + 1))
    return frozenset(found)


def claims_of(text: str) -> list[str]:
    """Return what each test of a file says that should hold: the first sentence of its docstring, else its name.

    An error that it waits for is named. Raises ValueError.
    """
    return [_claim(one.node) for one in tests_of(text)]


def _claim(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    said = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    if not said or _NUMBER.search(said):
        said = node.name.removeprefix("test_").replace("_", " ")
    errors = dict.fromkeys(
        ast.unparse(each.args[0])
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and each.args and ast.unparse(each.func).endswith(_RAISES)
    )
    told = [f"`{error}` is raised" for error in errors if error not in said]
    return f"{said} ({', '.join(told)})" if told else said


def function_at(text: str, line: int) -> str | None:
    """Return the dotted name of the innermost function or class at a line; None where there is none."""
    try:
        tree = parse(text)
    except ValueError:
        return None
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = [each for each in ast.walk(tree) if isinstance(each, named) and first_line(each) <= line <= _last(each)]
    return ".".join(each.name for each in sorted(around, key=first_line)) or None
