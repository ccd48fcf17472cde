"""Irregular words are registered by one piece of code, for the library's own words and for added ones."""

import ast
from pathlib import Path

import pytest

import inflection


@pytest.fixture(autouse=True)
def rules_as_before():
    kept = [(rules, list(rules)) for rules in (inflection.PLURALS, inflection.SINGULARS)]
    words = set(inflection.UNCOUNTABLES)
    yield
    for rules, before in kept:
        rules[:] = before
    inflection.UNCOUNTABLES.clear()
    inflection.UNCOUNTABLES.update(words)


def functions():
    tree = ast.parse(Path("inflection/__init__.py").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def reached_from(name, known):
    """The module's functions that are named in this one, directly or through others."""
    seen, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current in seen or current not in known:
            continue
        seen.add(current)
        waiting += [node.id for node in ast.walk(known[current]) if isinstance(node, ast.Name)]
    return seen


def registers_pairs(function):
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return {"PLURALS", "SINGULARS"} <= names


def test_the_code_is_not_there_twice():
    known = functions()
    if "add_irregular" not in known or "_irregular" not in known:
        assert callable(inflection.add_irregular)  # one of them is the other by another name
        return
    shared = reached_from("add_irregular", known) & reached_from("_irregular", known)
    assert any(registers_pairs(known[name]) for name in shared)
    alone = reached_from("add_irregular", known) - shared
    assert not any(registers_pairs(known[name]) for name in alone)
    own = {node.id for name in alone for node in ast.walk(known[name]) if isinstance(node, ast.Name)}
    assert not own & {"PLURALS", "add_plural"}  # a rule more, such as of a singular for itself, is no copy


@pytest.mark.parametrize("singular, plural", [("criterion", "criteria"), ("ego", "selves"), ("opus", "works"), ("cow", "kine"), ("foo", "bar"), ("index", "indices")])
def test_words_are_registered(singular, plural):
    inflection.add_irregular(singular, plural)
    assert inflection.pluralize(singular) == plural
    assert inflection.pluralize(plural) == plural
    assert inflection.singularize(plural) == singular
    assert inflection.pluralize(singular.capitalize()) == plural.capitalize()
    assert inflection.pluralize(plural.capitalize()) == plural.capitalize()
    assert inflection.singularize(plural.capitalize()) == singular.capitalize()
    assert inflection.pluralize("person") == "people"
    assert (inflection.pluralize("cow"), inflection.singularize("kine")) == ("kine", "cow")
