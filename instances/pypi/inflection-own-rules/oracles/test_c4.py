"""The new functions are in the reference, and those that take a pattern show how."""

import ast
import doctest
import re
from pathlib import Path

import pytest

import inflection

NEW = ["add_irregular", "add_plural", "add_singular", "add_uncountable"]


def docstring(name):
    tree = ast.parse(Path("inflection/__init__.py").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(found) == 1, f"{name} is gone"
    return ast.get_docstring(found[0]) or ""


@pytest.mark.parametrize("name", NEW)
def test_the_function_is_in_the_reference(name):
    lines = Path("docs/index.rst").read_text(encoding="utf-8").splitlines()
    directives = [line.strip() for line in lines if re.match(r"\.\. auto(function|module)::", line.strip())]
    whole = [position for position, line in enumerate(lines) if re.match(r"\.\. automodule::\s*inflection\s*$", line)]
    named = [line for line in directives if re.search(rf"::\s*(inflection\.)?{name}\b", line)]
    assert named or any(":members:" in "".join(lines[at + 1 : at + 6]) for at in whole)


@pytest.mark.parametrize("name", ["add_plural", "add_singular"])
def test_the_docstring_has_an_example_with_a_group(name):
    text = docstring(name)
    calls = [part for part in re.split(r"^(?=\s*>>>|\s*\w*\.?add_)", text, flags=re.M) if re.match(rf"\s*(>>> *)?(\w+\.)?{name}\(", part)]
    assert calls, f"no example of {name}()"
    assert any(re.search(r"\\(g<\w+>|\d)", part) and re.search(r"\((?!\?[:=!<i])[^)]", part.partition("(")[2]) for part in calls), "no example refers to a group"


@pytest.mark.parametrize("name", NEW)
def test_descriptions_are_kept(name):
    assert len(docstring(name)) > 50


@pytest.mark.parametrize("name", ["add_plural", "add_singular"])
def test_what_the_example_shows_is_so(name):
    kept = [(rules, list(rules)) for rules in (inflection.PLURALS, inflection.SINGULARS)]
    words = {key: value for key, value in vars(inflection).items() if not key.startswith("__")}
    told = []
    try:
        test = doctest.DocTestParser().get_doctest(docstring(name), {**words, "inflection": inflection}, name, None, 0)
        doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    finally:
        for rules, before in kept:
            rules[:] = before
    assert told == []
