"""The reviewer with SWE-PRBench's contexts: a real gateway, a scripted provider behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab import reviewers
from pytest_crab.errors import BadInput, ReviewerError
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, say

FOUND = [{"body": "Zero is not guarded against.", "file": "calc.py", "line": 2, "severity": "P1"}]


def answers(*reviews: str) -> Any:
    """A model that sums up when it is asked to, and gives these reviews one after the other."""
    left = list(reviews)

    def script(asked: Asked) -> Reply:
        summed = "Sum up" in asked.body["messages"][0]["content"]
        return say("It divides truly.") if summed else say(left.pop(0))

    return script


def test_the_summary_is_a_layer_of_the_question(desk: Any) -> None:
    review = desk.review("layered", answers(json.dumps(FOUND)))
    (finding,) = review.findings
    assert (finding.path, finding.start, finding.severity) == ("calc.py", 2, "P1")
    assert review.usage.requests == 2
    asked = desk.provider.asked[-1].body["messages"][0]["content"]
    data = asked.partition("----- begin ")[2]
    order = [data.index(text) for text in ("Review this pull request: True", "It divides truly.", "Diff:", "As Python")]
    assert order == sorted(order)
    assert "Tests:" not in data


def test_without_a_summary_one_question_is_asked(desk: Any) -> None:
    review = desk.review("layered", answers("[]"), summary=False, context="C")
    assert (review.findings, review.usage.requests) == ((), 1)
    assert "Changed code before the pull request:" in desk.provider.asked[0].body["messages"][0]["content"]


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(desk: Any) -> None:
    review = desk.review("layered", answers("I see nothing.", "[]"), summary=False)
    assert (review.findings, review.asked_again, len(desk.provider.asked)) == ((), 1, 2)
    with pytest.raises(ReviewerError) as caught:
        desk.review("layered", answers("I see nothing.", "Nothing."), summary=False)
    assert caught.value.status == "bad_output"
    assert len(desk.provider.asked) == 2


def test_what_its_prompts_lack_is_on_record(make_desk: Callable[..., Any]) -> None:
    assert make_desk().review("layered", answers("[]")).cut == ()
    long = make_desk(extra={"lib/long.py": "value = 1\n" * 12_000})
    summary, context = long.review("layered", answers("[]")).cut
    assert summary.startswith("for its summary, the diff was cut to ")
    assert "lib/long.py" in context


def test_each_context_is_another_reviewer(desk: Any) -> None:
    made = [
        reviewers.REVIEWERS.make("layered", {"model": "m", **own}, desk.folder).identity()  # type: ignore[union-attr]
        for own in ({"context": "A"}, {"context": "B"}, {"context": "C"}, {"context": "A", "summary": "false"})
    ]
    assert all(one != other for at, one in enumerate(made) for other in made[:at])
    with pytest.raises(BadInput, match="context"):
        reviewers.REVIEWERS.make("layered", {"model": "m", "context": "D"}, desk.folder)
