"""The new function has a typed stub, and its place in the reference."""

import ast
import re
from pathlib import Path

NAME = "windowed_minmax"


def stubs():
    tree = ast.parse(Path("more_itertools/more.pyi").read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == NAME]


def parameters(stub):
    return stub.args.posonlyargs + stub.args.args + stub.args.kwonlyargs


def test_there_is_a_stub():
    assert stubs(), "more.pyi does not know the function"


def test_everything_in_it_has_a_type():
    assert stubs()
    for stub in stubs():
        assert stub.returns is not None
        assert [arg.arg for arg in parameters(stub) if arg.annotation is None] == []


def test_it_has_the_parameters_of_the_function():
    names = {arg.arg for stub in stubs() for arg in parameters(stub)}
    assert names >= {"iterable", "n", "key"}


def test_it_is_in_the_reference():
    text = Path("docs/api.rst").read_text(encoding="utf-8")
    assert len(re.findall(rf"^\.\. autofunction:: {NAME}\b", text, re.M)) == 1
