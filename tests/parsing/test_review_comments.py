"""Bots, machine-made comments and comments without substance are told from the rest."""

from __future__ import annotations

import pytest

from pytest_crab.parsing.review_comments import asks_anew, is_bot, is_substantive, looks_generated, raises_concern

REMARK = "This divides the percentage twice, so `total` is too small for every cart with a discount."


@pytest.mark.parametrize(
    ("login", "bot"),
    [("coderabbitai", True), ("dependabot[bot]", True), ("my-bot-7", True), ("ann", False), ("Robot", False)],
)
def test_logins(login: str, bot: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_bot(login) is bot
    assert is_substantive(login, REMARK) is not bot


@pytest.mark.parametrize(
    ("body", "generated"),
    [
        ("## One\ntext\n## Two\ntext\n## Three\ntext", True),
        ("## One\n### Two\n### Three\n### Four", False),
        ("| a | b |\n|---|---|\n| 1 | 2 |", True),
        ("## One\n## Two\n" + "word " * 500, True),
        ("**Actionable comments posted: 3**", True),
        (REMARK, False),
    ],
)
def test_the_structure_of_machine_made_comments(body: str, generated: bool) -> None:  # noqa: FBT001 - a parameter
    assert looks_generated(body) is generated
    assert not (generated and is_substantive("ann", body))


@pytest.mark.parametrize(
    "body", ["Nice, thanks!", "one two three four five six seven eight nine ten eleven", "`total` is wrong"]
)
def test_short_or_empty_words_are_no_substance(body: str) -> None:
    assert not is_substantive("ann", body)


@pytest.mark.parametrize(
    ("body", "raises", "anew"),
    [
        ("wouldn't this fall apart for class instances?", True, True),
        ("This should be deleted.", True, True),
        ("use `is not None`", True, False),
        ("```suggestion\nok\n```", True, True),
        ("It is what the other caller does.", True, False),
        ("\u8fd9\u91cc\u5e94\u8be5\u8fd4\u56de\u9519\u8bef", True, False),
        ("Looks good to me, thanks!", False, False),
        ("ditto", False, False),
        ("Why?", False, False),
        ("> wouldn't this fall apart for class instances?\nThanks, fixed!", False, False),
    ],
)
def test_what_raises_a_concern(body: str, raises: bool, anew: bool) -> None:  # noqa: FBT001 - parameters of the test
    assert raises_concern("ann", body) is raises
    assert asks_anew("ann", body) is anew
    assert not raises_concern("x[bot]", body)
