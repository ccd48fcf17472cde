"""Reviewers and the agent that ask a model themselves: a real gateway, a scripted provider behind it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab import reviewers
from pytest_crab.errors import BadInput, ReviewerError
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, fail, in_order, refuse, say, turns

if TYPE_CHECKING:
    from pathlib import Path

FOUND = [{"file": "calc.py", "line": 2, "comment": "Zero is not guarded against.", "severity": "high"}]
ANSWER = f"Here is what I found:\n```json\n{json.dumps(FOUND)}\n```"


def stopped(reason: str | None) -> Reply:
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
    (stopped("model_length"), "limit"),
    (stopped("MAX_TOKENS"), "limit"),
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


WHOLE = ["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "", None]


@pytest.mark.parametrize("reason", WHOLE)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_servers_have_their_own_words_for_a_whole_answer(desk: Any, reason: str | None, provider: str) -> None:
    assert desk.review("single-shot", turns(stopped(reason)), provider=provider).findings == ()
    without = json.loads(stopped(reason).raw or b"")
    del without["stop_reason"], without["choices"][0]["finish_reason"]
    desk.review("single-shot", turns(Reply(raw=json.dumps(without).encode())), provider=provider)


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, {"max_completion_tokens": 8192}),
        ({"max_tokens": 100}, {"max_completion_tokens": 100}),
        ({"max_tokens": "null"}, {}),
        ({"token_limit": "max_tokens"}, {"max_tokens": 8192}),
        ({"options": {"max_tokens": "4096", "max_completion_tokens": "null"}}, {"max_tokens": 4096}),
        ({"options": {"max_completion_tokens": "null"}}, {}),
        ({"options": {"max_completion_tokens": "7"}, "token_limit": "max_tokens"}, {"max_completion_tokens": 7}),
    ],
    ids=str,
)
def test_the_limit_of_an_answer_goes_into_the_field_that_its_server_knows(
    desk: Any, settings: dict[str, Any], limits: dict[str, int]
) -> None:
    desk.review("single-shot", turns(say("[]")), provider="openai", **settings)
    body = desk.provider.asked[-1].body
    assert {name: value for name, value in body.items() if "tokens" in name} == limits


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-3-5-sonnet-20241022", 8192),
        ("claude-3-7-sonnet-latest", 64_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-sonnet-4-5-20250929", 64_000),
        ("anthropic/claude-opus-4.6", 128_000),
        ("claude-opus-5", 128_000),
        ("gpt-4.1-mini", 32_768),
        ("openai/gpt-5.2", 128_000),
        ("o4-mini", 100_000),
        ("a-model-of-ones-own", 8192),
    ],
)
def test_the_limit_of_an_answer_is_the_models_own(tmp_path: Path, model: str, most: int) -> None:
    made: Any = reviewers.REVIEWERS.make("single-shot", {"model": model}, tmp_path)
    assert made.max_tokens == most
    assert made.identity()["settings"]["max_tokens"] == most
    assert reviewers.REVIEWERS.make("single-shot", {"model": model, "max_tokens": "77"}, tmp_path).max_tokens == 77  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("provider", "settings", "reason", "said"),
    [
        ("anthropic", {"max_tokens": 77}, "max_tokens", "max_tokens is 77"),
        ("openai", {"max_tokens": 77}, "length", "max_completion_tokens is 77"),
        ("openai", {"options": {"max_tokens": "9"}}, "length", "max_tokens is 9"),
        ("openai", {"max_tokens": "null"}, "length", "the provider's own"),
        ("anthropic", {}, "model_context_window_exceeded", "the model's context window"),
    ],
)
def test_a_cut_answer_says_which_limit_cut_it(
    desk: Any, provider: str, settings: dict[str, Any], reason: str, said: str
) -> None:
    with pytest.raises(ReviewerError, match="the answer was cut") as caught:
        desk.review("single-shot", turns(stopped(reason)), provider=provider, **settings)
    assert said in str(caught.value)


def test_a_provider_of_ones_own_is_asked_in_the_field_that_most_servers_know(tmp_path: Path) -> None:
    entry = "{base_url: 'http://127.0.0.1:1/v1', api: openai%s}"
    providers = f"a: {entry % ''}, b: {entry % ', token_limit: max_completion_tokens'}"
    (tmp_path / "crab.yaml").write_text(f"models: {{providers: {{{providers}}}}}\n")
    made = [reviewers.REVIEWERS.make("single-shot", {"model": "m", "provider": name}, tmp_path) for name in ("a", "b")]
    assert [one.limited(9) for one in made] == [{"max_tokens": 9}, {"max_completion_tokens": 9}]  # type: ignore[union-attr]
    assert "token_limit" not in str([one.identity() for one in made])  # type: ignore[union-attr]


def test_anthropics_protocol_has_no_answer_without_a_limit(desk: Any) -> None:
    with pytest.raises(ReviewerError, match="give max_tokens a number"):
        desk.review("single-shot", turns(say("[]")), max_tokens="null")
    assert desk.provider.asked == []


@pytest.mark.parametrize("first", [say("I see nothing wrong."), Reply(raw=b"<html>"), stopped("pause_turn")])
def test_an_answer_that_cannot_be_read_is_asked_for_once_more_on_record(desk: Any, first: Reply) -> None:
    review = desk.review("single-shot", in_order(first, say(ANSWER)))
    assert (len(review.findings), review.asked_again) == (1, 1)
    assert len(desk.provider.asked) == 2
    assert desk.provider.asked[0].body == desk.provider.asked[1].body
    assert desk.review("single-shot", turns(say(ANSWER))).asked_again is None
    with pytest.raises(ReviewerError, match="ended as bad_output, and was asked once more") as caught:
        desk.review("single-shot", turns(first))
    assert len(desk.provider.asked) == 2
    assert caught.value.status == "bad_output"


@pytest.mark.parametrize(("reply", "status"), [(Reply(text="[", stop="length"), "limit"), (refuse(), "refused")])
def test_an_answer_that_is_cut_or_refused_is_not_asked_for_again(desk: Any, reply: Reply, status: str) -> None:
    with pytest.raises(ReviewerError) as caught:
        desk.review("single-shot", turns(reply))
    assert (caught.value.status, len(desk.provider.asked)) == (status, 1)


def test_a_good_status_with_an_error_has_the_providers_words(desk: Any) -> None:
    """Twice as routers of several providers send it."""
    said = {"message": "Rate limit exceeded: free-models-per-day", "code": 429}
    choice = {
        "index": 0,
        "finish_reason": "error",
        "message": {"content": ""},
        "error": {"message": "idle", "code": 502},
    }
    for document, status, words in (
        ({"error": said}, "rate_limited", "it answered 429: Rate limit exceeded: free-models-per-day"),
        ({"choices": [choice]}, "overloaded", "it answered 502: idle"),
    ):
        with pytest.raises(ReviewerError, match=words) as caught:
            desk.review("single-shot", turns(Reply(raw=json.dumps(document).encode())), provider="openai")
        assert caught.value.status == status


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
    review = desk.review("hunks", turns(say(json.dumps(answer))), jobs=1)
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
    desk.review("hunks", turns(say("[]")), context="bm25", k=1, jobs=1)
    first = str(desk.provider.asked[0].body["messages"][0]["content"])
    assert "Further code: lib/ratio.py, lines 1 to 5" in first
    assert "shout" not in first
    desk.review("hunks", turns(say("[]")))
    assert "Further code" not in desk.bodies


def test_a_part_of_a_review_is_none(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra={"lib/more.py": "value = 1\n"})
    limits = {
        "2 hunks, and most is 1": {"most": 1},
        "a hunk of calc.py has .* longest_hunk is 20": {"longest_hunk": 20},
    }
    for said, settings in limits.items():
        with pytest.raises(ReviewerError, match=said) as caught:
            desk.review("hunks", turns(say("[]")), **settings)
        assert caught.value.status == "limit"
        assert desk.provider.asked == []


FOUR = {f"lib/part{at}.py": f"value_{at} = {at}\n" for at in range(4)}


def test_hunks_have_the_diffs_order_whatever_the_answers_have(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra=FOUR)

    def late(asked: Asked) -> Reply:
        """The first are answered last, and one after it could not be read."""
        text = str(asked.body["messages"][0]["content"])
        (at,) = re.findall(r"File: lib/part(\d)", text) or ["-1"]
        if at == "2" and sum("part2" in str(one.body) for one in desk.provider.asked) == 1:
            return say("Fine.")
        return say(json.dumps([{"start": 1, "body": f"Of {at}."}]), delay=0.4 - 0.1 * int(at))

    for jobs in (1, 5):
        review = desk.review("hunks", late, jobs=jobs)
        assert [finding.body for finding in review.findings] == ["Of -1.", "Of 0.", "Of 1.", "Of 2.", "Of 3."]
        assert (review.usage.requests, review.usage.input_tokens, review.asked_again) == (6, 600, 1)
        kept = desk.run_context.store.get("transcript", review.transcript)
        places = re.findall(r"File: ([\w./]+)", kept["text"])
        assert places == ["calc.py", *(f"lib/part{at}.py" for at in (0, 1, 2, 2, 3))]


def test_no_hunk_is_asked_about_after_a_failure(make_desk: Callable[..., Any]) -> None:
    desk = make_desk(extra=FOUR)
    with pytest.raises(ReviewerError, match="refused"):
        desk.review("hunks", turns(refuse()), jobs=1)
    assert len(desk.provider.asked) == 1


def test_how_many_are_asked_at_a_time_decides_no_review(desk: Any) -> None:
    one, other, longer = (
        reviewers.REVIEWERS.make("hunks", {"model": "m", **own}, desk.folder).identity()  # type: ignore[union-attr]
        for own in ({"jobs": 1}, {"jobs": 9}, {"longest_hunk": 9})
    )
    assert one == other != longer


def test_a_review_in_parts_is_one_review(make_desk: Callable[..., Any]) -> None:
    """The diff of five files, of which a prompt holds two or three."""
    desk = make_desk(extra=FOUR)

    def each(asked: Asked) -> Reply:
        text = str(asked.body["messages"][0]["content"])
        paths = re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)
        return say(json.dumps([{"file": path, "line": 1, "comment": f"Seen in {path}."} for path in paths]))

    whole = desk.review("single-shot", each)
    assert (whole.usage.requests, len(whole.findings)) == (1, 5)
    parts = desk.review("single-shot", each, longest_diff=500, long_diff="split")
    assert parts.findings == whole.findings
    assert parts.usage.requests == len(desk.provider.asked) > 1
    assert parts.usage.input_tokens == 100 * parts.usage.requests
    assert "of which the first" not in desk.bodies


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
        reviewers.REVIEWERS.make(name, settings, tmp_path)


def test_a_prompt_of_ones_own_is_asked_and_decides_the_review(desk: Any) -> None:
    (desk.folder / "mine.md").write_text("Look for dragons. Answer with a JSON array.")
    desk.review("single-shot", turns(say("[]")), prompt="mine.md")
    assert "Look for dragons" in desk.bodies
    assert "each line behind its number" in desk.bodies
    mine, ours = (
        reviewers.REVIEWERS.make("single-shot", {"model": "m", **own}, desk.folder).identity()  # type: ignore[union-attr]
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


def test_a_diff_that_is_too_long_is_an_error_before_anything_is_asked(desk: Any) -> None:
    for name, settings in (
        ("single-shot", {"longest_diff": 20}),
        ("single-shot", {"longest_diff": 20, "long_diff": "split"}),
        ("reflexion", {"longest_diff": 20}),
    ):
        with pytest.raises(ReviewerError, match="a part of the pull request would not be reviewed") as caught:
            desk.review(name, turns(say("[]")), **settings)
        assert caught.value.status == "limit"
        assert desk.provider.asked == []
        assert ("say long_diff: split" in str(caught.value)) == (name == "single-shot" and len(settings) == 1)
        identity = reviewers.REVIEWERS.make(name, {"model": "m", **settings}, desk.folder).identity()  # type: ignore[union-attr]
        assert identity is not None
        assert identity["settings"]["longest_diff"] == 20, "what was stored of a diff that was cut is not used again"
