"""The new function has a typed stub, and its place in the reference."""

import ast
import builtins
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


def test_the_key_may_be_left_out():
    required = [len(stub.args.posonlyargs + stub.args.args) - len(stub.args.defaults) for stub in stubs()]
    keywords = [[arg.arg for arg, value in zip(stub.args.kwonlyargs, stub.args.kw_defaults) if value is None] for stub in stubs()]
    assert any(count <= 2 and not {"key", "iterable", "n"} & set(names) for count, names in zip(required, keywords))


def test_its_types_are_known_and_it_gives_an_iterator_of_pairs():
    tree = ast.parse(Path("more_itertools/more.pyi").read_text(encoding="utf-8"))
    known = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            known |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for stub in stubs():
        types = [stub.returns, *[arg.annotation for arg in parameters(stub)]]
        assert {part.id for kind in types for part in ast.walk(kind) if isinstance(part, ast.Name)} <= known
        returned = ast.unparse(stub.returns)
        assert re.search("iterator|iterable|generator", returned, re.I) and re.search("tuple", returned, re.I), returned
        assert ast.unparse(next(arg.annotation for arg in parameters(stub) if arg.arg == "n")).rpartition(".")[2] in {"int", "SupportsIndex"}
