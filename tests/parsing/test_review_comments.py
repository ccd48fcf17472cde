"""Bots, machine-made comments and comments without substance are told from the rest."""

from __future__ import annotations

import pytest

from pytest_crab.parsing.review_comments import is_bot, is_substantive, looks_generated

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
