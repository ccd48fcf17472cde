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


class Walked(SymbolTable):
    """A table that counts how often somebody goes through all of its names, in Python or in C."""

    times = 0

    def __iter__(self):
        Walked.times += 1
        return super().__iter__()

    def keys(self):
        Walked.times += 1
        return super().keys()

    def items(self):
        Walked.times += 1
        return super().items()


def builtins(names):
    module = MypyFile([], [])
    module.names = Walked({name: SymbolTableNode(GDEF, Var(name)) for name in names})
    return SymbolTable({"__builtins__": SymbolTableNode(GDEF, module)})


def check(source, names):
    options = Options()
    options.check_untyped_defs = True
    tree = parse(source, "main.py", "main", Errors(), options)
    tree.names = names
    messages = Messages()
    tree.accept(partially_defined.PossiblyUndefinedVariableVisitor(messages, {}, options, names))
    return messages


def steps(source, count):
    """The lines of the visitor's module that run for a module that looks at one or two builtins."""
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
        check(source, names)
    finally:
        sys.settrace(before)
    assert taken > 0
    return taken


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        "print(1)\n",
        "def f(a: int) -> int:\n    return min(a, 1)\n",
        "class A:\n    def f(self) -> None:\n        print([len(x) for x in []])\n",
        "if int:\n    min = 1\nprint(min)\n",
    ],
)
def test_the_work_does_not_grow_with_the_builtins(source):
    assert steps(source, 2000) - steps(source, 20) < 100


def test_nothing_is_recorded_for_names_that_nobody_looks_at():
    """What is found out once for all modules may be kept; the second module asks for its own names alone."""
    names = builtins(NAMES)
    check("print(1)\n", names)
    before = Walked.times
    check("print(min)\nmin = 1\n", names)
    assert Walked.times == before


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


REPORTS = [
    ("class A:\n    print(min)\n    min = 1\n", [], []),
    ("class A:\n    def f(self) -> None:\n        print(min)\n        min = 1\n", [("min", 3)], []),
    ("print([min for x in [1]])\nmin = 1\n", [], []),
    ("print([len(min) for min in [1]])\n", [], []),
    ("print([min(x) for x in [1]])\nx = 1\n", [], []),
    ("if int:\n    min = 1\nprint(min)\n", [], []),
    ("def f(a: int) -> None:\n    if a:\n        min = 1\n    print(min)\n", [], [("min", 4)]),
    ("def f(a: int) -> None:\n    if a:\n        other = 1\n    print(other)\n", [], [("other", 4)]),
    ("if int:\n    other = 1\nprint(other)\n", [], [("other", 3)]),
    ("for i in [1]:\n    print(min)\n    min = 1\n", [], []),
    ("def f() -> None:\n    for i in [1]:\n        print(min)\n        min = 1\n", [], [("min", 3)]),
    ("def f() -> None:\n    def g() -> None:\n        print(min)\n    min = 1\n", [], []),
    ("def f() -> None:\n    def g() -> None:\n        print(min)\n        min = 1\n    min = 1\n", [("min", 3)], []),
    ("def f(a: int = min) -> None:\n    min = 1\nmin = 2\n", [], []),
    ("def f(min: int) -> None:\n    print(min)\n    min = 1\n", [], []),
    ("def f() -> None:\n    global min\n    print(min)\n    min = 1\n", [], []),
    ("try:\n    print(min)\nfinally:\n    min = 1\n", [], []),
    ("try:\n    min = 1\nexcept int:\n    pass\nprint(min)\n", [], []),
    ("def f() -> None:\n    try:\n        min = 1\n    except int:\n        pass\n    print(min)\n", [], [("min", 6)]),
    ("print(__name__, __file__)\n__name__ = 'x'\n", [], []),
    ("def f() -> None:\n    print(__name__)\n    __name__ = 'x'\n", [("__name__", 2)], []),
    ("min = min\n", [], []),
    ("x = lambda: min\nmin = 1\n", [], []),
    ("while int:\n    print(len)\n    len = 1\n", [], []),
    ("print(other)\nfor other in [1]:\n    pass\n", [("other", 1)], []),
    ("del min\nprint(min)\n", [], []),
    ("import min\nprint(min)\n", [], []),
    ("print(min)\nimport min\n", [], []),
    ("print(min)\ndef min() -> None: pass\n", [], []),
    ("print(other)\ndef other() -> None: pass\n", [("other", 1)], []),
    ("print(min)\nclass min: pass\n", [], []),
    ("print({min: 1 for k in [1]})\nmin = 1\n", [], []),
    ("if int:\n    print(min)\nelse:\n    min = 1\nprint(min)\n", [], []),
]


@pytest.mark.parametrize("source, early, maybe", REPORTS)
def test_the_reports_are_the_same_as_before(source, early, maybe):
    messages = check(source, builtins(NAMES))
    assert (sorted(messages.early), sorted(messages.maybe)) == (early, maybe)
