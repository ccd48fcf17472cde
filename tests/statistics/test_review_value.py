"""RVS by hand: every component alone, the weights, and the bounds."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from pytest_crab.statistics.review_value import (
    ReviewedPull,
    review_value,
)

QUIET = ReviewedPull(
    substantive_comments=0, threads=0, change_requests=0, reply_threads=0, reviewers=0, files=0, lines=0, directories=0
)


@pytest.mark.parametrize(
    ("changes", "component", "value", "score"),
    [
        ({"substantive_comments": 6, "threads": 3, "change_requests": 1}, "review_depth", 0.5, 0.125),
        ({"substantive_comments": 60}, "review_depth", 1.0, 0.25),
        ({"files": 20, "lines": 400, "directories": 3}, "code_complexity", 2 / 3, 0.4 / 3),
        ({"directories": 1}, "code_complexity", 0.0, 0.0),
        ({"reply_threads": 5, "reviewers": 5}, "discussion_signal", 0.75, 0.15),
        ({"tests_modified": True, "tests_added": True}, "test_change_signal", 1.0, 0.15),
        ({"tests_added": True}, "test_change_signal", 0.5, 0.075),
        ({"title": "Fix the total"}, "bug_fix_signal", 1.0, 0.2),
        ({"labels": ["kind/bug"]}, "bug_fix_signal", 1.0, 0.2),
        ({"title": "Add a prefix"}, "bug_fix_signal", 0.0, 0.0),
    ],
)
def test_each_component_of_a_pull_request(changes: dict[str, Any], component: str, value: float, score: float) -> None:
    found = review_value(dataclasses.replace(QUIET, **changes))
    assert getattr(found, component) == pytest.approx(value)
    assert found.score == pytest.approx(score)


def test_scores_stay_within_their_bounds() -> None:
    source = random.Random(2603)
    numbers = [field.name for field in dataclasses.fields(ReviewedPull) if field.type == "int"]
    for _ in range(200):
        pull = dataclasses.replace(QUIET, **{name: source.randint(0, 100) for name in numbers}, tests_modified=True)
        assert 0 <= review_value(pull).score <= 1
    full = ReviewedPull(
        substantive_comments=20, threads=9, change_requests=1, reply_threads=10, reviewers=5, files=20, lines=800,
        directories=5, tests_modified=True, title="Fix it",
    )  # fmt: skip
    assert review_value(full).score == pytest.approx(1.0)
    assert review_value(QUIET).score == 0
