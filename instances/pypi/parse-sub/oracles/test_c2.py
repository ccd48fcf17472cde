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


def test_every_kind_of_format():
    for format, string, loose, strict in [
        ("{:d}Cat{:d}", "1cat2,3Cat4,5CAT6", "#,#,#", "1cat2,#,5CAT6"),
        ("{n:d}km{m:w}", "1KMx,2kmy", "#,#", "1KMx,#"),
        ("{:d}\u00c9{:d}", "1\u00e92,3\u00c94", "#,#", "1\u00e92,#"),
    ]:
        assert sub(format, "#", string) == loose
        assert sub(format, "#", string, case_sensitive=False) == loose
        assert sub(format, "#", string, case_sensitive=True) == strict
        assert sub(format, lambda r: "#", string, case_sensitive=True) == strict
        assert sub(format, "#", string, case_sensitive=True) == strict


def test_beside_the_other_options():
    types = {"up": lambda text: text.upper()}
    assert sub("{:d}X{:up}", "{1}", "1xa,2Xb", case_sensitive=True, extra_types=types) == "1xa,B"
    string = "1K1,2k2,3K3"
    assert sub("{:d}K{:d}", "#", string, pos=1, count=1, case_sensitive=True) == "1K1,2k2,#"
    assert sub("{:d}K{:d}", "#", string, pos=3, count=1) == "1K1,#,3K3"
    assert sub("{:d}K{:d}", "#", string, endpos=7, case_sensitive=True) == "#,2k2,3K3"
