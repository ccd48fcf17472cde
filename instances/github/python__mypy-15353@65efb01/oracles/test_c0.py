"""Asking for the type of a function does not change the function."""

import pytest

from mypy.nodes import ARG_POS, Argument, Block, FuncDef, Var
from mypy.test.typefixture import TypeFixture
from mypy.typeops import callable_type, function_type
from mypy.types import AnyType, TypeType, get_proper_type


def method(fixture, name, is_static):
    arguments = [Argument(Var(arg), None, None, ARG_POS) for arg in ("cls", "value")]
    definition = FuncDef(name, arguments, Block([]))
    definition.info = fixture.ai
    definition.is_static = is_static
    return definition


@pytest.mark.parametrize("ask", [callable_type, function_type])
@pytest.mark.parametrize("is_static", [False, True])
def test_new_is_left_as_it_was(ask, is_static):
    fixture = TypeFixture()
    definition = method(fixture, "__new__", is_static)
    ask(definition, fixture.function)
    assert definition.is_static is is_static
    assert definition.is_class is False


@pytest.mark.parametrize("is_static", [False, True])
def test_new_takes_the_class_in_either_case(is_static):
    fixture = TypeFixture()
    result = callable_type(method(fixture, "__new__", is_static), fixture.function)
    first = get_proper_type(result.arg_types[0])
    assert isinstance(first, TypeType)
    assert first.item == fixture.a


@pytest.mark.parametrize("is_static, expected", [(False, "self"), (True, "any")])
def test_other_methods_are_typed_as_before(is_static, expected):
    fixture = TypeFixture()
    result = callable_type(method(fixture, "make", is_static), fixture.function)
    first = get_proper_type(result.arg_types[0])
    assert (first == fixture.a) is (expected == "self")
    assert isinstance(first, AnyType) is (expected == "any")


@pytest.mark.parametrize("ask", [callable_type, function_type])
@pytest.mark.parametrize("name", ["__new__", "__init_subclass__", "__class_getitem__", "make"])
@pytest.mark.parametrize("is_class", [False, True])
def test_nothing_of_the_function_changes(ask, name, is_class):
    fixture = TypeFixture()
    definition = method(fixture, name, False)
    definition.is_class = is_class
    parts = [part for part in dir(definition) if not part.startswith("__") and not callable(getattr(definition, part))]
    before = {part: getattr(definition, part) for part in parts}
    result = ask(definition, fixture.function)
    assert {part: getattr(definition, part) for part in parts} == before
    assert result.definition is definition
    first = get_proper_type(result.arg_types[0])
    assert isinstance(first, TypeType) is (is_class or name == "__new__")
