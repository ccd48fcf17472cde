"""Rates and hints from explanations of verdicts, worked out by hand."""

from __future__ import annotations

import pytest

from pytest_crab.results.explained import explained_rates, look_first
from pytest_crab.types import ExplainedOutcome, Explanation

BY_1 = Explanation(outcome=ExplainedOutcome.BY_FINDING, near=(1,), alone=True, findings=(1,))
SPOILED = Explanation(outcome=ExplainedOutcome.SPOILED, near=(2,), alone=True, findings=(3,))
NOT_FOUND = Explanation(outcome=ExplainedOutcome.NOT_FOUND, alone=False)
NOT_RESOLVED = Explanation(outcome=ExplainedOutcome.NOT_RESOLVED, near=(1, 2), alone=False)
UNCLEAR = Explanation(outcome=ExplainedOutcome.UNCLEAR, near=(1,))


def test_each_rate_is_over_all_oracles_and_the_mean_of_repeats() -> None:
    trials = [("a", "x/x", {"c0": BY_1, "c1": SPOILED}), ("a", "x/x", {"c0": NOT_FOUND, "c1": SPOILED})]
    found = explained_rates([*trials, ("b", "y/y", {"c0": NOT_RESOLVED, "c1": NOT_FOUND})])
    assert found is not None
    assert [rate.micro for rate in (found.found, found.alone, found.spoiled)] == [
        pytest.approx((0.5 + 1 + 1 + 0) / 4),
        pytest.approx((0.5 + 1 + 0 + 0) / 4),
        pytest.approx(1 / 4),
    ]
    assert found.outcomes == {"not found": 2, "not resolved": 1, "spoiled": 2, "by finding": 1}
    assert explained_rates([("a", "x/x", {})]) is None


def test_what_cannot_be_told_of_some_is_bounded_and_no_rate_of_the_others() -> None:
    found = explained_rates([("a", "x/x", {"c0": UNCLEAR, "c1": UNCLEAR, "c2": NOT_FOUND, "c3": BY_1})])
    assert found is not None
    assert (found.alone.micro, found.alone.interval) == (None, None)
    assert (found.alone.low, found.alone.high) == (0.25, 0.75)
    assert found.found.micro == 0.75


def test_spoiled_ones_are_looked_at_first_and_what_was_not_found_never() -> None:
    looks = look_first([("a::r", {"c0": NOT_FOUND, "c1": NOT_RESOLVED}), ("b::r", {"c0": SPOILED})])
    assert [(one.trial, one.comment, one.why) for one in looks] == [
        ("b::r", "c0", "spoiled by the fix of finding 3"),
        ("a::r", "c1", "not resolved"),
    ]


@pytest.mark.parametrize(
    ("explanation", "words"),
    [
        (BY_1, "by finding 1"),
        (Explanation(outcome=ExplainedOutcome.TOGETHER, near=(2,), findings=(2, 5)), "by findings 2, 5 together"),
        (Explanation(outcome=ExplainedOutcome.LEFT, near=(2,)), "left by the agent"),
        (Explanation(outcome=ExplainedOutcome.UNCLEAR, near=(1,), detail="so"), "cannot be told apart (so)"),
    ],
)
def test_an_explanation_reads_as_words(explanation: Explanation, words: str) -> None:
    assert explanation.words == words
