"""The caret keeps the leftmost part that is not zero."""

import pytest

from semver import Version


def check(version, expression, expected):
    assert Version.parse(version).match(expression) is expected, f"{version} {expression}"


@pytest.mark.parametrize("version", ["0.3.0", "0.4.1", "0.9.9", "1.0.0", "0.2.2"])
def test_a_minor_version_is_kept_below_one(version):
    check(version, "^0.2.3", False)


@pytest.mark.parametrize("version", ["0.0.4", "0.0.10", "0.1.0", "0.0.2", "1.0.0"])
def test_a_patch_is_kept_below_zero_point_one(version):
    check(version, "^0.0.3", False)


@pytest.mark.parametrize("version, expression", [("0.2.3", "^0.2.3"), ("0.2.9", "^0.2.3"), ("0.0.3", "^0.0.3")])
def test_what_is_inside(version, expression):
    check(version, expression, True)


def test_zero_point_minor_point_zero():
    check("0.2.5", "^0.2.0", True)
    check("0.3.0", "^0.2.0", False)


def test_from_one_on_and_tilde_as_before():
    check("1.9.0", "^1.0.0", True)
    check("1.0.9", "^1.0.2", True)
    check("2.0.0", "^1.0.0", False)
    check("0.2.9", "~0.2.3", True)
    check("0.3.0", "~0.2.3", False)
    check("0.0.9", "~0.0.3", True)


@pytest.mark.parametrize(
    "expression, inside, outside",
    [
        ("^0.0.0", ["0.0.0"], ["0.0.1", "0.1.0", "1.0.0"]),
        ("^0.0.1", ["0.0.1"], ["0.0.0", "0.0.2", "0.1.1", "1.0.1"]),
        ("^0.1.0", ["0.1.0", "0.1.10"], ["0.0.9", "0.2.0", "1.1.0"]),
        ("^0.10.2", ["0.10.2", "0.10.11"], ["0.10.1", "0.11.0", "0.2.2", "10.10.2"]),
        ("^0.0.10", ["0.0.10", "0.0.10+build"], ["0.0.9", "0.0.11", "0.0.1", "0.1.10"]),
        ("^1.2.3", ["1.2.3", "1.2.4", "1.10.0"], ["1.2.2", "2.0.0", "0.2.3", "10.0.0"]),
        ("^1.0.0", ["1.0.0", "1.0.1", "1.1.0"], ["0.9.9", "2.0.0"]),
        ("^10.0.3", ["10.0.3", "10.9.9"], ["10.0.2", "11.0.0", "1.0.3"]),
        ("~0.0.0", ["0.0.0", "0.0.9"], ["0.1.0"]),
        ("~1.0.0", ["1.0.0", "1.0.9"], ["1.1.0", "0.9.9"]),
    ],
)
def test_every_place_of_the_first_part_that_is_not_zero(expression, inside, outside):
    for version in inside:
        check(version, expression, True)
    for version in outside:
        check(version, expression, False)
