"""Descriptions lose what was written after the review, and keep the rest."""

from __future__ import annotations

import pytest

from pytest_crab.parsing.descriptions import review_trace, without_review

SQUASH = """\
Sums are cached per cart, see https://github.com/o/n/issues/4#issuecomment-71.

* Add a cache of sums

* Clear it for items
  that were removed

It was stale.

* Test the cache

Co-authored-by: Ann <ann@example.org>
"""


def test_a_squash_lists_no_commit_after_the_review() -> None:
    told = without_review(SQUASH, {"Clear it for items"})
    assert told == SQUASH.partition("\n* Clear")[0] + "\n* Test the cache"
    assert without_review(SQUASH) == SQUASH.partition("\n\nCo-auth")[0]


@pytest.mark.parametrize(
    "line",
    [
        "Apply review comment https://github.com/o/n/pull/3#discussion_r12",
        "Apply suggestions from code review",
        "Addressing @ann's comments.",
        "* PR feedback",
        "As suggested by @ann, the sum is an integer.",
    ],
)
def test_paragraphs_that_tell_of_the_review_go(line: str) -> None:
    assert review_trace(line, 3)
    assert without_review(f"Adds a cache.\n\n{line}\n\nIt is small.") == "Adds a cache.\n\nIt is small."


def test_links_to_discussions_go_and_those_of_the_pull_request_itself_are_traces() -> None:
    text = "As in https://git.example/o/n/-/merge_requests/3#note_12 it is small."
    assert without_review(text) == "As in  it is small."
    assert review_trace(text, 3) == "https://git.example/o/n/-/merge_requests/3#note_12"
    assert review_trace(text, 4) is None


@pytest.mark.parametrize(
    "text",
    [
        "Fix the review value",
        "Adds per-review settings and a code review bot",
        "Fix comments in the parser",
        "See https://github.com/o/n/issues/4#issuecomment-71",
        "Resolve conflicts of addresses",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert review_trace(text, 3) is None
    assert without_review(text) == text
