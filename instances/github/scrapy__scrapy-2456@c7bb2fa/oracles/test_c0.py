"""The test of the indentation compares what is exported as it is, byte by byte."""

import ast
import json
import textwrap
from pathlib import Path

import pytest

TREE = ast.parse(Path("tests/test_feedexport.py").read_text())
LENIENT = {
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "splitlines",
    "replace",
    "loads",
    "fromstring",
    "sub",
    "translate",
    "removesuffix",
    "removeprefix",
}
LENIENT |= {"lower", "partition", "rpartition", "findall", "dedent", "parse", "sorted", "filter"}
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
    """What is given a name before the loop may be built as one likes, what is compared may not be changed."""
    (loop,) = [node for node in ast.walk(test) if isinstance(node, ast.For) and "exported_data" in called(node)]
    assert called(loop) & LENIENT == set()
    assert called(test) & (LENIENT - {"dedent"}) == set()
    assert not [node for node in ast.walk(loop) if isinstance(node, (ast.If, ast.Try, ast.Continue, ast.Break))]


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
    assert all(ast.unparse(left) != ast.unparse(right) for left, right in plain)
    exported = [
        node for node in ast.walk(test) if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "data"
    ]
    assert len(exported) == 1 and "exported_data" in called(exported[0])


def test_the_cases_are_all_there(test):
    assert {(case["format"], case["indent"]) for case in cases(test)} >= CASES


def written(format, indent):
    """What the exporters write for the two items of the test: no whitespace around it."""
    if format == "json":
        items = [{"foo": ["bar"]}, {"key": "value"}]
        if indent is None:
            return "[" + ",".join(json.dumps(item) for item in items) + "]"
        return "[\n" + ",\n".join(json.dumps(item, indent=indent if indent > 0 else None) for item in items) + "\n]"
    head, values = '<?xml version="1.0" encoding="utf-8"?>\n', [("foo", "<value>bar</value>"), ("key", "value")]
    if indent is None or indent <= 0:
        line = "" if indent is None else "\n"
        return (
            head
            + "<items>"
            + line
            + "".join(f"<item><{name}>{text}</{name}></item>{line}" for name, text in values)
            + "</items>"
        )
    one, two, three = (" " * indent * depth for depth in (1, 2, 3))
    inner = [f"<foo>\n{three}<value>bar</value>\n{two}</foo>", "<key>value</key>"]
    return head + "<items>\n" + "".join(f"{one}<item>\n{two}{text}\n{one}</item>\n" for text in inner) + "</items>"


def test_what_is_expected_is_what_the_exporters_write(test):
    for case in cases(test):
        if (case["format"], case["indent"]) not in CASES:
            continue
        assert isinstance(case["expected"], bytes)
        assert case["expected"].decode() == written(case["format"], case["indent"])
