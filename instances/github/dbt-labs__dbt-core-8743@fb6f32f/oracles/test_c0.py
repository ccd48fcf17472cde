"""A fixture validates itself: a normal method, called on the fixture, that refuses rows of another format."""

import ast
import enum
from pathlib import Path

import pytest

UNPARSED = ast.parse(Path("core/dbt/contracts/graph/unparsed.py").read_text())
PARSER = ast.parse(Path("core/dbt/parser/unit_tests.py").read_text())
CLASSES = {"UnitTestFixture", "UnitTestInputFixture", "UnitTestOutputFixture"}


def class_named(name):
    (found,) = [node for node in ast.walk(UNPARSED) if isinstance(node, ast.ClassDef) and node.name == name]
    return found


def methods():
    return {node.name: node for node in class_named("UnitTestFixture").body if isinstance(node, ast.FunctionDef)}


def validating():
    """The calls in the parser of what validates a fixture."""
    return [
        node
        for node in ast.walk(PARSER)
        if isinstance(node, ast.Call) and "validate_fixture" in ast.unparse(node.func)
    ]


def over_both(call):
    """Whether the call is in a loop over what is given and what is expected."""
    loops = [node for node in ast.walk(PARSER) if isinstance(node, ast.For) and call in ast.walk(node)]
    return any("expect" in ast.unparse(loop.iter) for loop in loops)


def test_it_is_a_normal_method():
    method = methods()["validate_fixture"]
    assert [ast.unparse(decorator) for decorator in method.decorator_list] == []
    assert method.args.args[0].arg == "self"
    assert "fixture" not in [argument.arg for argument in method.args.args]


def test_it_is_called_on_the_fixtures():
    calls = validating()
    assert len(calls) > 1 or any(over_both(call) for call in calls), "not all fixtures are validated"
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        owner = ast.unparse(call.func.value)
        assert owner not in CLASSES
        passed = [ast.unparse(value) for value in [*call.args, *[keyword.value for keyword in call.keywords]]]
        assert owner not in passed


class ParsingError(Exception):
    pass


class Format(str, enum.Enum):
    CSV = "csv"
    Dict = "dict"


@pytest.fixture
def fixture():
    """A fixture that has the validation of the class, run on its own, and nothing else of dbt."""
    validation = [
        node for name, node in methods().items() if "validate" in name or name.startswith("_") or "match" in name
    ]
    body = ast.Module([ast.ClassDef("Fixture", [], [], validation, [])], [])
    names = {"UnitTestFormat": Format, "ParsingError": ParsingError, "List": list, "Dict": dict}
    exec(compile(ast.fix_missing_locations(body), "fixture", "exec", flags=0x1000000), names)

    def make(format, rows):
        made = names["Fixture"]()
        made.format = format
        made.rows = rows
        return made

    return make


@pytest.mark.parametrize("format, rows", [(Format.Dict, "a,b"), (Format.CSV, [{"a": 1}])])
def test_rows_of_another_format_are_refused(fixture, format, rows):
    with pytest.raises(ParsingError, match="my_test"):
        fixture(format, rows).validate_fixture("input", "my_test")


@pytest.mark.parametrize("format, rows", [(Format.CSV, "a,b"), (Format.Dict, [{"a": 1}]), (Format.Dict, [])])
def test_rows_of_the_format_are_fine(fixture, format, rows):
    assert fixture(format, rows).validate_fixture("expected", "my_test") is None
