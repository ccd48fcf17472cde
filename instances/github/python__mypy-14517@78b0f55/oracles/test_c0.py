"""What a module costs does not grow with the number of builtins, and the reports are the right ones."""

import sys

import pytest

from mypy import partially_defined
from mypy.errors import Errors
from mypy.nodes import GDEF
from mypy.nodes import MypyFile
from mypy.nodes import SymbolTable
from mypy.nodes import SymbolTableNode
from mypy.nodes import Var
from mypy.options import Options
from mypy.parse import parse

NAMES = ["print", "min", "int", "len"]


class Enabled:
    def is_error_code_enabled(self, code):
        return True


class Messages:
    def __init__(self):
        self.errors = Enabled()
        self.early = []
        self.maybe = []

    def var_used_before_def(self, name, context):
        self.early.append((name, context.line))

    def variable_may_be_undefined(self, name, context):
        self.maybe.append((name, context.line))


def builtins(names):
    module = MypyFile([], [])
    module.names = SymbolTable({name: SymbolTableNode(GDEF, Var(name)) for name in names})
    return SymbolTable({"__builtins__": SymbolTableNode(GDEF, module)})


def check(source, names):
    options = Options()
    options.check_untyped_defs = True
    tree = parse(source, "main.py", "main", Errors(), options)
    tree.names = names
    messages = Messages()
    tree.accept(partially_defined.PossiblyUndefinedVariableVisitor(messages, {}, options, names))
    return messages


def steps(count):
    """The lines of the visitor's module that run for a module that looks at one builtin."""
    names = builtins(NAMES + [f"name{number}" for number in range(count)])
    taken = 0

    def trace(frame, event, argument):
        nonlocal taken
        if frame.f_code.co_filename != partially_defined.__file__:
            return None
        taken += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check("print(1)\n", names)
    finally:
        sys.settrace(before)
    assert taken > 0
    return taken


def test_the_work_does_not_grow_with_the_builtins():
    assert steps(2000) - steps(20) < 100


def test_a_builtin_may_be_used_before_the_module_takes_its_name():
    messages = check("print(min)\nmin = 1\n", builtins(NAMES))
    assert messages.early == messages.maybe == []


@pytest.mark.parametrize("name", ["min", "len", "other"])
def test_in_a_function_it_is_used_before_it_is_set(name):
    source = f"def f() -> None:\n    print({name})\n    {name} = 1\n"
    assert check(source, builtins(NAMES)).early == [(name, 2)]


def test_in_a_module_it_is_used_before_it_is_set():
    assert check("print(other)\nother = 1\n", builtins(NAMES)).early == [("other", 1)]


def test_builtins_that_are_only_used_are_not_reported():
    source = "def f(a: int) -> int:\n    if a:\n        print(len(str(a)))\n    return min(a, 2)\nprint(f(1))\n"
    messages = check(source, builtins(NAMES))
    assert messages.early == messages.maybe == []
