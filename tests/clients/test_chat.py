"""Reviewers and the agent that ask a model themselves: a real gateway, a scripted provider behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab import reviewers
from pytest_crab.errors import BadInput, ReviewerError
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import fail, refuse, say, turns

if TYPE_CHECKING:
    from pathlib import Path

FOUND = [{"file": "calc.py", "line": 2, "comment": "Zero is not guarded against.", "severity": "high"}]
ANSWER = f"Here is what I found:\n```json\n{json.dumps(FOUND)}\n```"


def stopped(reason: str) -> Reply:
    """An answer that could be a review, had it not stopped for this, in a form that both protocols find theirs in."""
    anthropic = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason}
    usage = {"input_tokens": 1, "output_tokens": 1, "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": "[]"}}
    content = [{"type": "text", "text": "[]"}]
    return Reply(raw=json.dumps({**anthropic, "content": content, "choices": [choice], "usage": usage}).encode())


ENDINGS = [
    (refuse(), "refused"),
    (fail(401), "auth"),
    (fail(400), "client_error"),
    (fail(429), "rate_limited"),
    (fail(529), "overloaded"),
    (fail(500), "overloaded"),
    (say("I see nothing wrong with it."), "bad_output"),
    (Reply(text="[", stop="length"), "limit"),
    (stopped("model_context_window_exceeded"), "limit"),
    (stopped("pause_turn"), "bad_output"),
    (stopped("something_new"), "bad_output"),
    (Reply(raw=b"<html>"), "bad_output"),
    (Reply(text="[]", delay=5.0), "timeout"),
]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_single_question_has_its_findings_and_its_usage(desk: Any, provider: str) -> None:
    review = desk.review("single-shot", turns(say(ANSWER)), provider=provider, options={"temperature": "0.5"})
    (finding,) = review.findings
    assert (finding.path, finding.start, finding.severity) == ("calc.py", 2, "high")
    assert finding.body == "Zero is not guarded against."
    assert (review.usage.requests, review.usage.input_tokens) == (1, 100)
    assert review.usage.cost_usd == pytest.approx(100 * 3e-6 + 20 * 15e-6)
    (asked,) = desk.provider.asked
    assert asked.body["temperature"] == 0.5
    assert "a / b" in desk.bodies
    assert "True division" in desk.bodies


def test_an_empty_list_is_a_review(desk: Any) -> None:
    assert desk.review("single-shot", turns(say("[]"))).findings == ()


@pytest.mark.parametrize(("reply", "status"), ENDINGS, ids=[f"{status}-{at}" for at, (_, status) in enumerate(ENDINGS)])
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_what_is_no_review_has_its_status(desk: Any, reply: Any, status: str, provider: str) -> None:
    with pytest.raises(ReviewerError) as caught:
        desk.review("single-shot", turns(reply), provider=provider, timeout=1.5 if status == "timeout" else 60)
    assert caught.value.status == status
    assert "\n" not in str(caught.value)


def test_reflexion_takes_the_last_of_its_lists(desk: Any) -> None:
    more = [*FOUND, {"file": "calc.py", "line": 1, "comment": "Undocumented."}]
    review = desk.review("reflexion", turns(say(ANSWER), say("[]"), say(json.dumps(more))), iterations=2)
    assert [finding.body for finding in review.findings] == ["Zero is not guarded against.", "Undocumented."]
    assert review.usage.requests == 3
    roles = [message["role"] for message in desk.provider.asked[-1].body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_reflexion_that_ends_in_prose_is_no_review(desk: Any) -> None:
    with pytest.raises(ReviewerError, match="bad_output"):
        desk.review("reflexion", turns(say(ANSWER), say("I stand by it.")), iterations=1)


def test_hunks_are_asked_for_one_by_one(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra={"lib/more.py": "".join(f"value_{at} = {at}\n" for at in range(30))})
    answer = [{"start": 2, "end": 2, "body": "Here."}, {"start": 900, "body": "Nowhere."}]
    review = desk.review("hunks", turns(say(json.dumps(answer))))
    assert len(desk.provider.asked) == 2
    places = [(finding.path, finding.start, finding.end) for finding in review.findings]
    assert places == [("calc.py", 2, 2), ("calc.py", 1, 2), ("lib/more.py", 2, 2), ("lib/more.py", 1, 30)]
    assert "     2 +    return a / b" in str(desk.provider.asked[0].body["messages"][0]["content"])


def test_hunks_may_come_with_code_that_is_like_them(make_desk: Callable[..., Any]) -> None:
    extra = {
        "lib/ratio.py": "import calc\n\n\ndef ratio(a, b):\n    return calc.divide(a, b)\n",
        "lib/other.py": "def shout(text):\n    return text.upper()\n",
    }
    desk = make_desk(extra=extra)
    desk.review("hunks", turns(say("[]")), context="bm25", k=1)
    first = str(desk.provider.asked[0].body["messages"][0]["content"])
    assert "Further code: lib/ratio.py, lines 1 to 5" in first
    assert "shout" not in first
    desk.review("hunks", turns(say("[]")))
    assert "Further code" not in desk.bodies


def test_a_part_of_a_review_is_none(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra={"lib/more.py": "value = 1\n"})
    with pytest.raises(ReviewerError, match="2 hunks, and most is 1") as caught:
        desk.review("hunks", turns(say("[]")), most=1)
    assert caught.value.status == "limit"
    assert desk.provider.asked == []


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("single-shot", {"model": "m", "prompt": "none.md"}, "prompt none.md cannot be read"),
        ("single-shot", {}, "model is missing"),
        ("reflexion", {"model": "m", "iterations": 0}, "iterations should be at least 1"),
        ("hunks", {"model": "m", "context": "embedding"}, "embedding should name"),
        ("hunks", {"model": "m", "context": "embedding", "embedding": "x"}, "needs sentence_transformers"),
    ],
)
def test_wrong_settings_are_said(tmp_path: Path, name: str, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        reviewers.make(name, settings, tmp_path)


def test_a_prompt_of_ones_own_is_asked_and_decides_the_review(desk: Any) -> None:
    (desk.folder / "mine.md").write_text("Look for dragons. Answer with a JSON array.")
    desk.review("single-shot", turns(say("[]")), prompt="mine.md")
    assert "Look for dragons" in desk.bodies
    assert "each line behind its number" in desk.bodies
    mine, ours = (
        reviewers.make("single-shot", {"model": "m", **own}, desk.folder).identity()  # type: ignore[union-attr]
        for own in ({"prompt": "mine.md"}, {})
    )
    assert mine != ours
    assert mine is not None
    assert mine["diff"] == "numbered", "reviews of the diff without numbers have another key"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_what_a_model_thinks_is_no_part_of_its_answer(desk: Any, provider: str) -> None:
    thought = f"<think>Perhaps [] will do, or\n```json\n[]\n```</think>\n{ANSWER}"
    (finding,) = desk.review("single-shot", turns(say(thought)), provider=provider).findings
    assert finding.path == "calc.py"


def test_an_answer_in_parts_is_the_text_of_them(desk: Any) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "[]"}]}, {"type": "text", "text": ANSWER}]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": parts}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    raw = json.dumps({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})
    (finding,) = desk.review("single-shot", turns(Reply(raw=raw.encode())), provider="openai").findings
    assert finding.path == "calc.py"
