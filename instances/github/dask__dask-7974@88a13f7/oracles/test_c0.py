"""The documentation of visualize describes the graphs under the name that they have in the signature."""

import ast
import re
from pathlib import Path

import pytest


def function():
    tree = ast.parse(Path("dask/base.py").read_text())
    (found,) = [node for node in tree.body if getattr(node, "name", "") == "visualize"]
    return found


def documented():
    """The parameters of the numpydoc section: name to description."""
    lines = ast.get_docstring(function()).splitlines()
    start = next(
        number
        for number, line in enumerate(lines)
        if line.strip() == "Parameters" and set(lines[number + 1].strip()) == {"-"}
    )
    found = {}
    name = None
    for number, line in enumerate(lines[start + 2 :], start + 2):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if following and set(following) == {"-"}:
            break
        if line.strip() and not line.startswith(" "):
            name, _, kind = line.replace("\\", "").partition(":")
            name = name.strip()
            found[name] = kind.strip()
        elif name is not None:
            found[name] += " " + line.strip()
    return found


def test_the_graphs_are_documented_as_what_they_are_called():
    name = function().args.vararg.arg
    described = {key.lstrip("*"): text for key, text in documented().items()}
    assert name in described
    assert name != "dsk"
    text = described[name]
    assert re.search(r"\bgraph|\bdict|\bdsk", text.replace("graphviz", "")) and "collection" in text
    assert re.search(
        r"graphs|graph\(s\)|collections|collection\(s\)|objects|one or more|any number|several|each|multiple",
        text.lower(),
    )


def test_the_function_uses_what_it_is_given():
    name = function().args.vararg.arg
    read = {node.id for node in ast.walk(function()) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert name in read
    assert name == "args" or "args" not in read


def test_the_old_name_is_not_documented():
    named = {part.strip().lstrip("*") for key in documented() for part in key.split(",")}
    assert "dsk" not in named
    assert "kwargs" in named


@pytest.mark.parametrize("name", ["filename", "format", "optimize_graph", "color", "collapse_outputs", "verbose"])
def test_the_options_are_still_documented(name):
    assert documented()[name].strip()
