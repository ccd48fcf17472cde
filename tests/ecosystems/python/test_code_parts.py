"""Files of tests without some tests, and with some tests alone."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.python import code_parts

TEXT = '''\
"""Tests."""
import os
import re

import pytest

from shop import label, price

LIMIT = 3


def made(value):
    return label(value)


@pytest.fixture(name="cart")
def _cart():
    return [LIMIT]


class TestPrice:
    @pytest.mark.parametrize("sign", ["+", "-"])
    def test_sign(self, sign):
        assert made(sign)

    def test_cart(self, cart):
        assert price(cart)


def test_os():
    assert os.name


def test_shared(shop_of_conftest):
    assert re.match("a", "a")
'''


def test_lines_belong_to_tests_from_their_decorator_on() -> None:
    line = TEXT.splitlines().index('    @pytest.mark.parametrize("sign", ["+", "-"])') + 1
    assert [one.name for one in code_parts.tests_of(TEXT) if one.first == line] == ["TestPrice::test_sign"]


def test_tests_are_taken_out_and_a_class_goes_with_its_last_one() -> None:
    assert "test_os" not in code_parts.without(TEXT, ["test_os"])
    assert "TestPrice" in code_parts.without(TEXT, ["TestPrice::test_sign"])
    left = code_parts.without(TEXT, ["TestPrice::test_sign", "TestPrice::test_cart"])
    assert "TestPrice" not in left
    assert [one.name for one in code_parts.tests_of(left)] == ["test_os", "test_shared"]


def test_a_test_alone_keeps_what_it_needs_and_nothing_else() -> None:
    alone = code_parts.alone(TEXT, ["TestPrice::test_cart"])
    assert [one.name for one in code_parts.tests_of(alone)] == ["TestPrice::test_cart"]
    for kept in ("from shop import price", "LIMIT = 3", "def _cart", "import pytest"):
        assert kept in alone
    for gone in ("import os", "import re", "def made", "label"):
        assert gone not in alone


def test_a_fixture_that_its_decorator_names_is_kept() -> None:
    fixture = "@pytest.fixture(name='shop')\ndef _shop():\n    return 1\n"
    text = f"import pytest\n\n\n{fixture}\n\ndef test_a(shop):\n    assert shop\n"
    assert code_parts.alone(text, ["test_a"]) == text
    assert code_parts.stands_alone(text)


@pytest.mark.parametrize(
    ("names", "stands"),
    [(["TestPrice::test_sign"], True), (["TestPrice::test_cart"], True), (["test_shared"], False)],
)
def test_what_asks_for_a_fixture_of_others_does_not_stand_alone(names: list[str], stands: bool) -> None:  # noqa: FBT001
    assert code_parts.stands_alone(code_parts.alone(TEXT, names)) is stands


@pytest.mark.parametrize("line", ["from . import helpers", "from tests.helpers import a", "import conftest as c"])
def test_what_imports_other_tests_does_not_stand_alone(line: str) -> None:
    assert not code_parts.stands_alone(f"{line}\n\n\ndef test_a():\n    pass\n")


def test_names_that_a_fix_adds_are_told_from_those_that_were_there() -> None:
    new = "def price(a, sign=1):\n    b = c = 1\n\n\nPLACES = 2\n"
    added = code_parts.added_names("def price(a):\n    b = 1\n", new)
    assert added == {"sign", "PLACES"}
    tests = "def test_a():\n    price(1, sign=2)\n\n\ndef test_b():\n    sign = 1\n    price(sign)\n"
    assert code_parts.asking(tests, added, ()) == {"test_a"}


def test_a_test_says_what_should_hold_in_its_docstring_or_its_name() -> None:
    text = 'def test_a():\n    """Zero is\n    a price.\n\n    So it is.\n    """\n\n\ndef test_no_price():\n    pass\n'
    assert code_parts.claims_of(text) == ["Zero is a price.", "no price"]


def test_a_claim_names_the_error_that_its_test_waits_for_and_no_issue() -> None:
    body = '"""Regression test for #3."""\n    with pytest.raises(PriceError):\n        price()\n'
    text = f"def test_no_price():\n    {body}"
    assert code_parts.claims_of(text) == ["no price (`PriceError` is raised)"]
    named = text.replace("Regression test for #3.", "https://git.example/owner/shop/issues/3")
    assert code_parts.claims_of(named) == code_parts.claims_of(text)


def test_a_test_that_holds_a_message_against_new_words_is_told() -> None:
    before = 'def price():\n    """Some words of it."""\n    raise ValueError("no price was given")\n'
    new = code_parts.added_texts(before, before.replace("no price was given", "a price, please, is needed"))
    assert new == {"a price, please, is needed"}
    pinned = "def test_a():\n    with raises(ValueError, match='please, is needed'):\n        price()\n"
    tests = f"{pinned}\n\ndef test_b():\n    assert price() == 'some other words'\n"
    assert code_parts.asking(tests, (), new) == {"test_a"}


def test_a_function_below_a_condition_has_its_name() -> None:
    assert code_parts.function_at("if True:\n    class A:\n        def b(self):\n            pass\n", 4) == "A.b"


def test_a_fixture_with_the_name_of_a_test_is_kept_where_a_test_asks_for_it() -> None:
    text = (
        "import pytest\n\n\n@pytest.fixture\ndef testcases():\n    return [1]\n\n\n"
        "@pytest.mark.usefixtures('capsys')\ndef test_a(testcases):\n    assert testcases\n\n\n"
        "def test_b():\n    assert True\n"
    )
    assert [one.name for one in code_parts.tests_of(text)] == ["test_a", "test_b"]
    alone = code_parts.alone(text, ["test_a"])
    assert "def testcases" in alone
    assert "test_b" not in alone
