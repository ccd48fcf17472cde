"""Pre-releases of the version at which a range ends are not in the range."""

import pytest

from semver import Version


def check(version, expression, expected):
    assert Version.parse(version).match(expression) is expected, f"{version} {expression}"


@pytest.mark.parametrize("pre", ["rc.1", "alpha", "0", "a.b.c"])
def test_the_next_major_version_starts_with_its_first_pre_release(pre):
    check(f"2.0.0-{pre}", "^1.2.3", False)
    check(f"2.0.0-{pre}+build.7", "^1.2.3", False)
    check(f"3.0.0-{pre}", "^2.0.0", False)


@pytest.mark.parametrize("pre", ["rc.1", "alpha", "0"])
def test_the_next_minor_version_too(pre):
    check(f"1.3.0-{pre}", "~1.2.3", False)


def test_pre_releases_of_the_lower_end():
    check("1.2.3-rc.2", "^1.2.3-rc.1", True)
    check("1.2.3-rc.2", "~1.2.3-rc.1", True)
    check("1.2.3", "^1.2.3-rc.1", True)
    check("1.2.3-alpha", "^1.2.3-rc.1", False)
    check("1.2.3-rc.1", "^1.2.3", False)


def test_releases_as_before():
    check("1.2.3", "^1.2.3", True)
    check("1.2.3", "~1.2.3", True)
    check("1.9.9", "^1.2.3", True)
    check("1.2.9", "~1.2.3", True)
    check("2.0.0", "^1.2.3", False)
    check("1.3.0", "~1.2.3", False)
    check("1.2.2", "~1.2.3", False)


def test_both_ends_may_be_pre_releases():
    for pre in ("rc.1", "alpha", "0", "zzz"):
        check(f"2.0.0-{pre}", "^1.2.3-rc.1", False)
        check(f"1.3.0-{pre}", "~1.2.3-rc.1", False)
        check(f"2.0.0-{pre}", "~1.2.3", False)
        check(f"2.0.0-{pre}", "^1.0.0", False)
        check(f"1.0.0-{pre}", "^0.2.3", False)
        check(f"1.1.0-{pre}+b", "~1.0.0", False)
        check(f"10.0.0-{pre}", "^9.9.9", False)


def test_pre_releases_further_outside():
    check("3.0.0-alpha", "^1.2.3", False)
    check("1.4.0-alpha", "~1.2.3", False)
    check("1.2.3-rc.1", "~1.2.3", False)
    check("1.2.3-rc.1", "^1.2.3-rc.1", True)
    check("1.2.3-rc.10", "^1.2.3-rc.2", True)
    check("1.2.3-rc.1", "~1.2.3-rc.2", False)
