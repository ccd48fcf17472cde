"""The test of the indentation compares what is exported as it is, byte by byte."""

import ast
import textwrap
from pathlib import Path

import pytest

TREE = ast.parse(Path("tests/test_feedexport.py").read_text())
LENIENT = {"strip", "lstrip", "rstrip", "split", "splitlines", "replace", "loads", "fromstring"}
CASES = {
    *[("json", indent) for indent in (None, -1, 0, 2, 4, 5)],
    *[("xml", indent) for indent in (None, -1, 0, 2, 4, 5)],
}


@pytest.fixture(scope="module")
def test():
    (found,) = [node for node in ast.walk(TREE) if getattr(node, "name", "") == "test_export_indentation"]
    return found


def value(expression, names):
    return eval(compile(ast.Expression(expression), "cases", "eval"), {"__builtins__": {}, **names})


def constants(function):
    """What the module and the test give a name to, as far as it is made of literals."""
    names = {"textwrap": textwrap, "dedent": textwrap.dedent}
    for node in [*TREE.body, *function.body]:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                names[node.targets[0].id] = value(node.value, names)
            except (AttributeError, NameError, TypeError):  # it takes more than literals
                continue
    return names


def cases(function):
    """The cases as they are when the test runs."""
    names = constants(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Dict) and "expected" in [getattr(key, "value", None) for key in node.keys]:
            yield value(node, names)


def called(function):
    return {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    }


def test_nothing_is_normalized(test):
    assert called(test) & LENIENT == set()


def test_what_is_expected_is_compared_with_what_was_exported(test):
    compared = [
        node.args[:2]
        for node in ast.walk(test)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "assertEqual"
    ] + [
        [node.left, node.comparators[0]]
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)
    ]
    plain = [pair for pair in compared if all(isinstance(side, (ast.Name, ast.Subscript)) for side in pair)]
    assert any("data" in {getattr(side, "id", "") for side in pair} for pair in plain)


def test_the_cases_are_all_there(test):
    assert {(case["format"], case["indent"]) for case in cases(test)} == CASES


def test_what_is_expected_is_what_the_exporters_write(test):
    """There is no whitespace around what they write, so none may be expected."""
    for case in cases(test):
        expected = case["expected"]
        assert isinstance(expected, bytes)
        assert expected == expected.strip(), (case["format"], case["indent"])
        assert expected.startswith(b"[" if case["format"] == "json" else b"<?xml")
