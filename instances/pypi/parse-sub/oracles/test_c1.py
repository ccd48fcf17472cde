"""A replacement that is neither text nor callable is refused at once, found or not."""

import pytest

import parse


@pytest.mark.parametrize("repl", [None, 7, ["{}"]], ids=["none", "number", "list"])
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
