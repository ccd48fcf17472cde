"""Names of tests as data sets have them, beside those that a runner reports."""

from __future__ import annotations

import pytest

from pytest_crab.benchmarks.swebench.names import Found, Likeness, find, find_all

IDS = (
    "cart:TestTotal", "cart:TestTotal/in_euro", "store:TestTotal", "store:TestOpen/twice/at_once",
    "a.test.js:price > is right", "b.test.js:price > is right", "b.test.js:price > of all > is low",
    "shop:org.example.PriceTest#isNull",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("TestTotal", Found(ids=("cart:TestTotal", "store:TestTotal"), likeness=Likeness.EXACT)),
        ("TestTotal/in euro", Found(ids=("cart:TestTotal/in_euro",), likeness=Likeness.BLANKS)),
        ("TestOpen/at once", Found(ids=("store:TestOpen/twice/at_once",), likeness=Likeness.TITLE)),
        ("TestOther/at once", None),
        ("b.test.js > is low", Found(ids=("b.test.js:price > of all > is low",), likeness=Likeness.TITLE)),
        ("cart > is low", Found(ids=("b.test.js:price > of all > is low",), likeness=Likeness.ALONE)),
        ("cart > is high", None),
        ("cart > is right", None),
        ("PriceTest#isNull", Found(ids=("shop:org.example.PriceTest#isNull",), likeness=Likeness.TITLE)),
        ("OtherTest#isNull", None),
        ("com.other.PriceTest#isNull", None),
        ("b.test.js > price > is right", Found(ids=("b.test.js:price > is right",), likeness=Likeness.EXACT)),
        (
            "price is right",
            Found(ids=("a.test.js:price > is right", "b.test.js:price > is right"), likeness=Likeness.BLANKS),
        ),
        ("at_once", Found(ids=("store:TestOpen/twice/at_once",), likeness=Likeness.TITLE)),
        ("TestClosed", None),
    ],
)
def test_a_name_is_found_exactly_then_but_for_blanks_then_by_its_last_title(name: str, found: Found | None) -> None:
    assert find(name, IDS) == found


def test_a_last_title_that_two_tests_have_finds_none() -> None:
    assert find("other/price", ("a:one/price", "a:two/price")) is None


def test_an_error_of_a_whole_place_has_no_name() -> None:
    assert find("", ("cart:",)) is None


@pytest.mark.parametrize(
    ("names", "after", "before", "found"),
    [
        (("A > works", "B > works"), ("x.js:A > works",), ("x.js:A > works", "x.js:B > works"), {
            "A > works": ("x.js:A > works", Likeness.EXACT), "B > works": ("x.js:B > works", Likeness.EXACT),
        }),
        (("B > works", "A > works"), ("x.js:A > works",), (), {"A > works": ("x.js:A > works", Likeness.EXACT)}),
        (("A > works", "B > works"), ("x.js:C > works",), (), {}),
        (("A > works",), ("x.js:C > works",), (), {"A > works": ("x.js:C > works", Likeness.ALONE)}),
        (("A > works",), ("y.js:A > works",), ("x.js:A > works",), {"A > works": ("y.js:A > works", Likeness.EXACT)}),
    ],
    ids=["exact in the other run", "of another name", "of two names", "of one name", "moved"],
)  # fmt: skip
def test_a_test_of_another_name_is_not_found_by_a_title(
    names: tuple[str, ...],
    after: tuple[str, ...],
    before: tuple[str, ...],
    found: dict[str, tuple[str, Likeness]],
) -> None:
    expected = {name: Found(ids=(one,), likeness=likeness) for name, (one, likeness) in found.items()}
    assert find_all(names, first=after, others=before) == expected
