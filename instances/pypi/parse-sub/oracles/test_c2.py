"""sub() can be told to mind the case, as parse(), search(), findall() and compile() can."""

import pytest

import parse


def sub(*args, **kwargs):
    try:
        return parse.sub(*args, **kwargs)
    except TypeError as error:
        pytest.fail(f"sub() does not take it: {error}")


def test_case_matters_on_request():
    assert sub("{:d}Kg{:d}", "#", "1kg2,3Kg4", case_sensitive=True) == "1kg2,#"


def test_case_does_not_matter_otherwise():
    string, expected = "1kg2,3Kg4", "#,#"
    assert sub("{:d}Kg{:d}", "#", string) == expected
    assert sub("{:d}Kg{:d}", "#", string, case_sensitive=False) == expected


def test_extra_types_still_work():
    types = {"up": lambda text: text.upper()}
    assert sub("{:up}", "{}", "a", extra_types=types) == "A"
