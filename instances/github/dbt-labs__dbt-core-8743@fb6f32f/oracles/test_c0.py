"""A fixture validates itself: a normal method, called on the fixture, that refuses rows of another format."""

import ast
import builtins
import enum
import types
from pathlib import Path
from unittest.mock import MagicMock

import pytest

UNPARSED = ast.parse(Path("core/dbt/contracts/graph/unparsed.py").read_text())
PARSER = ast.parse(Path("core/dbt/parser/unit_tests.py").read_text())


def class_named(name):
    (found,) = [node for node in ast.walk(UNPARSED) if isinstance(node, ast.ClassDef) and node.name == name]
    return found


def methods():
    return {node.name: node for node in class_named("UnitTestFixture").body if isinstance(node, ast.FunctionDef)}


class ParsingError(Exception):
    pass


class Recorded:
    """A fixture that writes down which method of it is called with what, whatever its name."""

    def __init__(self, calls, name, wrong=False):
        self.calls, self.name, self.wrong = calls, name, wrong

    def __getattr__(self, method):
        def called(*args, **kwargs):
            if method == "get_rows":
                return []
            self.calls.append((self.name, method, args, kwargs))
            if self.wrong:
                raise ParsingError(self.name)

        return called


def parse(*tests):
    """Runs the parser of unit tests on them, where all but its own methods is played; says how many were added."""
    (parser,) = [node for node in PARSER.body if isinstance(node, ast.ClassDef) and node.name == "UnitTestParser"]
    body = [node for node in parser.body if getattr(node, "name", "") != "__init__"]
    module = ast.Module([ast.ClassDef("Parser", [], [], body, [])], [])
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)} - set(vars(builtins))
    names = {**{name: MagicMock(name=name) for name in used}, "ParsingError": ParsingError}
    exec(compile(ast.fix_missing_locations(module), "parser", "exec", flags=0x1000000), names)
    made = names["Parser"]()
    made.project, made.manifest, made.yaml, made.schema_parser = MagicMock(), MagicMock(), MagicMock(), MagicMock()
    made.get_key_dicts = lambda: [{}]
    made._get_unit_test_suite = lambda data: types.SimpleNamespace(model="model", tests=tests)
    made._find_tested_model_node = made._build_unit_test_config = MagicMock()
    try:
        made.parse()
    finally:
        parse.added = made.manifest.add_unit_test.call_count
    return parse.added


def unit_test(calls, name, wrong=None):
    given = [Recorded(calls, f"given-{number}", wrong == f"given-{number}") for number in range(3)]
    expect = Recorded(calls, "expect", wrong == "expect")
    return types.SimpleNamespace(name=name, given=given, expect=expect, config={}, description="", overrides=None)


TESTS = ("one", "two")


def test_every_fixture_is_asked_to_validate_itself():
    calls = []
    assert parse(unit_test(calls, "one"), unit_test(calls, "two")) == 2
    said = sorted(
        (name, test) for name, _, args, kwargs in calls for test in [*args, *kwargs.values()] if test in TESTS
    )
    assert said == sorted((name, test) for test in TESTS for name in ("given-0", "given-1", "given-2", "expect"))


def asked(kind):
    """How the parser asks a fixture of this kind of the test `my_test`: the method, and what it passes."""
    calls = []
    parse(unit_test(calls, "my_test"))
    (found,) = {
        name: call for name, *call in calls if name == {"input": "given-0", "expected": "expect"}[kind]
    }.values()
    return found


def test_it_is_a_normal_method():
    for kind in ("input", "expected"):
        method = methods()[asked(kind)[0]]
        assert [ast.unparse(decorator) for decorator in method.decorator_list] == []
        assert method.args.args[0].arg == "self"
        assert "fixture" not in [argument.arg for argument in method.args.args]


@pytest.mark.parametrize("wrong", ["given-0", "given-2", "expect"])
def test_a_fixture_that_refuses_itself_is_not_added(wrong):
    with pytest.raises(ParsingError, match=wrong):
        parse(unit_test([], "one", wrong))
    assert parse.added == 0


class Format(str, enum.Enum):
    CSV = "csv"
    Dict = "dict"


@pytest.fixture
def fixture():
    """A fixture that has the validation of the class, run on its own, and nothing else of dbt."""
    validation = [node for name, node in methods().items() if name not in ("format", "rows", "get_rows")]
    body = ast.Module([ast.ClassDef("Fixture", [], [], validation, [])], [])
    names = {"UnitTestFormat": Format, "ParsingError": ParsingError, "List": list, "Dict": dict}
    exec(compile(ast.fix_missing_locations(body), "fixture", "exec", flags=0x1000000), names)

    def validate(kind, format, rows):
        made = names["Fixture"]()
        made.format = format
        made.rows = rows
        method, args, kwargs = asked(kind)
        return getattr(made, method)(*args, **kwargs)

    return validate


@pytest.mark.parametrize("format, rows", [(Format.Dict, "a,b"), (Format.CSV, [{"a": 1}])])
def test_rows_of_another_format_are_refused(fixture, format, rows):
    with pytest.raises(ParsingError, match="my_test") as caught:
        fixture("input", format, rows)
    assert "input" in str(caught.value)


@pytest.mark.parametrize("format, rows", [(Format.CSV, "a,b"), (Format.Dict, [{"a": 1}]), (Format.Dict, [])])
def test_rows_of_the_format_are_fine(fixture, format, rows):
    fixture("expected", format, rows)
