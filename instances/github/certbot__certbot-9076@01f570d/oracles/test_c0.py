"""The script knows every name that it uses, and promotes the snaps of a version that it has found out."""

import ast
import builtins
import symtable
from pathlib import Path

import pytest

PATH = Path("tools/finish_release.py")
SOURCE = PATH.read_text()
MODULE = {"__doc__", "__file__", "__name__"}


def tables(table):
    yield table
    for child in table.get_children():
        yield from tables(child)


def test_every_name_is_defined():
    top = symtable.symtable(SOURCE, str(PATH), "exec")
    defined = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    defined |= {symbol.get_name() for symbol in top.get_symbols() if symbol.is_namespace()}
    for table in tables(top):
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                defined.add(symbol.get_name())
    known = defined | set(vars(builtins)) | MODULE
    unknown = {
        symbol.get_name()
        for table in tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global() and symbol.get_name() not in known
    }
    assert unknown == set()


def promoting():
    """The functions that promote the snaps, each with what it passes."""
    tree = ast.parse(SOURCE)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "promote_snaps":
                    yield function, [*node.args, *[keyword.value for keyword in node.keywords]]


def values(function, name):
    """What is assigned to a local variable of the function."""
    found = []
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if target is not None and any(getattr(part, "id", "") == name for part in ast.walk(target)):
                found.append(getattr(node, "value", node))
    return found


def test_the_snaps_are_promoted_with_a_version():
    calls = list(promoting())
    assert calls, "nothing calls promote_snaps"
    for function, arguments in calls:
        assert len(arguments) == 1
        (argument,) = arguments
        assert not isinstance(argument, ast.Constant)
        if isinstance(argument, ast.Name):
            assigned = values(function, argument.id)
            if any(argument.id == parameter.arg for parameter in function.args.args):
                continue
            assert assigned
            constants = [node for node in assigned if isinstance(node, ast.Constant)]
            assert constants == [], "the version is made up"


@pytest.mark.parametrize("name", ["promote_snaps", "publish_windows", "get_snap_revisions"])
def test_the_steps_are_still_there(name):
    assert name in {node.name for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)}
