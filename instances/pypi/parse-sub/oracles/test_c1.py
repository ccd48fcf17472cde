"""A replacement that is neither text nor callable is refused at once, found or not."""

import pytest

import parse


@pytest.mark.parametrize("repl", [None, 7, ["{}"], 0, False, b"{}", {}, object(), ("{}",)], ids=["none", "number", "list", "zero", "false", "bytes", "dict", "object", "tuple"])
@pytest.mark.parametrize("string", ["no digits", "1 digit"], ids=["unmatched", "matched"])
def test_unusable_replacement_is_a_type_error(repl, string):
    try:
        result = parse.compile("{:d}").sub(repl, string)
    except TypeError:
        return
    except Exception as error:
        pytest.fail(f"{type(error).__name__} instead of TypeError")
    pytest.fail(f"no error, but {result!r}")


def test_usable_replacements_are_accepted():
    assert parse.sub("{:d}", "n", "1 digit") == "n digit"
    assert parse.sub("{:d}", lambda r: "n", "1 digit") == "n digit"
    assert parse.sub("{:d}", "n", "no digits") == "no digits"


@pytest.mark.parametrize("repl", [None, 7, []], ids=["none", "number", "list"])
@pytest.mark.parametrize("string", ["no digits", "1 digit", ""], ids=["unmatched", "matched", "empty"])
def test_by_either_function_and_with_any_limits(repl, string):
    for options in ({}, {"count": 1}, {"pos": 3}, {"endpos": 0}, {"extra_types": {}}):
        with pytest.raises(TypeError):
            parse.sub("{:d}", repl, string, **options)


class Text(str):
    pass


class Callable:
    def __call__(self, result):
        return f"<{result[0]}>"


def test_more_that_is_usable():
    assert parse.sub("{:d}", Text("[{}]"), "1,2") == "[1],[2]"
    assert parse.sub("{:d}", Callable(), "1,2") == "<1>,<2>"
    assert parse.sub("{:d}", "", "1,2") == ","
    assert parse.sub("{:d}", str, "none") == "none"


def test_what_a_callable_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        parse.sub("{:d}", lambda r: 1 / 0, "1")
