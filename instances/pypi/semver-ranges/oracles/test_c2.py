"""Ranges are read by the class of the version that is compared, as other expressions are."""

import pytest

from semver import Version


class Prefixed(Version):
    """A version that is written with a letter in front."""

    @classmethod
    def parse(cls, version):
        if not version[:1] == "v":
            raise ValueError(f"{version!r} has no prefix")
        return super().parse(version[1:])

    def __str__(self):
        return "v" + super().__str__()


class Short(Version):
    @classmethod
    def parse(cls, version, optional_minor_and_patch=True):
        return super().parse(version, optional_minor_and_patch)


def match(version, expression):
    try:
        return version.match(expression)
    except ValueError as error:
        pytest.fail(f"{expression}: {error}")


@pytest.mark.parametrize("text, expected", [("v1.4.0", True), ("v1.2.2", False), ("v2.0.0", False)])
def test_caret(text, expected):
    assert match(Prefixed.parse(text), "^v1.2.3") is expected


@pytest.mark.parametrize("text, expected", [("v1.2.9", True), ("v1.2.2", False), ("v1.3.0", False)])
def test_tilde(text, expected):
    assert match(Prefixed.parse(text), "~v1.2.3") is expected


def test_another_subclass():
    assert match(Short.parse("1.4"), "^1.2") is True
    assert match(Short.parse("2"), "^1.2") is False


def test_what_the_class_refuses_is_refused():
    with pytest.raises(ValueError):
        Prefixed.parse("v1.4.0").match("^1.2.3")
    with pytest.raises(ValueError):
        Version.parse("1.4.0").match("^v1.2.3")
    assert Version.parse("1.4.0").match("^1.2.3") is True


@pytest.mark.parametrize("text, expected", [("1.2.9", True), ("1.3", False), ("1.2", True), ("2", False)])
def test_another_subclass_with_the_tilde(text, expected):
    assert match(Short.parse(text), "~1.2") is expected


def test_the_class_is_asked_for_each_range():
    asked = []

    class Asked(Version):
        @classmethod
        def parse(cls, version, optional_minor_and_patch=False):
            asked.append((cls, version))
            return super().parse(version, optional_minor_and_patch)

    class Below(Asked):
        pass

    one = Below(1, 2, 4)
    for operator in "^~":
        del asked[:]
        assert match(one, f"{operator}1.2.3") is True
        assert (Below, "1.2.3") in asked
