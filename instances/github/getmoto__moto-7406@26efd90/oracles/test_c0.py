"""No annotation of the new service is evaluated that Python 3.8 cannot evaluate."""

import ast
import configparser
from pathlib import Path

import pytest

FILES = sorted(Path("moto/route53domains").rglob("*.py"))
GENERIC = {"dict", "frozenset", "list", "set", "tuple", "type"}


def postponed(tree):
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(name.name == "annotations" for name in node.names)
        for node in tree.body
    )


class Evaluated(ast.NodeVisitor):
    """The annotations that Python evaluates when it runs the file; those of local variables are not."""

    def __init__(self):
        self.found = []
        self.inside = 0

    def signature(self, node):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.found += [argument.annotation for argument in every if argument is not None]
        self.found.append(node.returns)
        self.inside += 1
        for child in node.body:
            self.visit(child)
        self.inside -= 1

    visit_FunctionDef = signature
    visit_AsyncFunctionDef = signature

    def visit_ClassDef(self, node):
        inside, self.inside = self.inside, 0
        self.generic_visit(node)
        self.inside = inside

    def visit_AnnAssign(self, node):
        if not self.inside:
            self.found.append(node.annotation)


def too_new(annotation):
    """Whether there is `a | b` or `list[a]` in it; what stands in quotes is not evaluated."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in GENERIC:
            return True
    return False


@pytest.mark.parametrize("path", FILES, ids=str)
def test_its_annotations_can_be_evaluated(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    if postponed(tree):
        return
    visitor = Evaluated()
    visitor.visit(tree)
    wrong = [node.lineno for node in visitor.found if node is not None and too_new(node)]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_what_typing_offers_is_imported(path):
    tree = ast.parse(path.read_text())
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        for name in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {"Optional", "Union", "Dict", "List", "Tuple", "Any"} & used <= imported


def test_python_3_8_is_still_supported():
    settings = configparser.ConfigParser()
    settings.read("setup.cfg")
    assert "3.8" in settings["options"]["python_requires"]


def test_the_service_still_takes_what_may_be_missing():
    tree = ast.parse(Path("moto/route53domains/models.py").read_text())
    (method,) = [node for node in ast.walk(tree) if getattr(node, "name", "") == "list_operations"]
    names = [argument.arg for argument in method.args.args]
    assert names[0] == "self"
    assert {"statuses", "types", "sort_by"} <= set(names)


def test_every_parameter_of_a_request_is_still_read():
    tree = ast.parse(Path("moto/route53domains/responses.py").read_text())
    (method,) = [node for node in ast.walk(tree) if getattr(node, "name", "") == "list_operations"]
    calls = [node for node in ast.walk(method) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    read = {ast.dump(call) for call in calls if "param" in call.func.attr}
    assert len(read) >= 7


def optional(annotation):
    text = ast.unparse(annotation) if annotation is not None else ""
    return "Optional" in text or "None" in text


@pytest.mark.parametrize("path", ["models.py", "validators.py"])
def test_what_may_be_missing_is_still_said(path):
    """Every default of None has an annotation that says so."""
    tree = ast.parse((Path("moto/route53domains") / path).read_text())
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            arguments = function.args.args[len(function.args.args) - len(function.args.defaults) :]
            for argument, default in zip(arguments, function.args.defaults):
                if ast.unparse(default) == "None":
                    assert optional(argument.annotation), f"{function.name}: {argument.arg}"
