"""Recording and replaying: the same request in another home and another run, and what differs where it is not."""

# ruff: noqa: SIM117 - the outer block says what is expected of the inner one

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import GatewayError, ReviewerError
from pytest_crab.testing.provider import fail, in_order, say

STEP = {"trial": "i::r", "step": "review", "attempt": 1}


def ask(gateway: Any, client: Any, protocol: Any, *bodies: Any, **step: Any) -> list[Any]:
    """The answers to some bodies in one access."""
    with gateway.open(**{**STEP, **step}) as access, client(access) as http:
        return [http.post(protocol.path, json=body) for body in bodies]


def home(number: str) -> str:
    place = f"/tmp/pytest-crab-0/runs/{number * 16}/tmp{number * 8}"
    return f"<system-reminder>\nin {place}/checkout\nToday's date is 202{number}-11-22."


def test_the_same_trial_in_another_home_on_another_date_asks_nobody(make: Any, client: Any, protocol: Any) -> None:
    stream = True
    make.provider.script = lambda asked: say(f"answer to {len(str(asked.body))}")
    live = ask(make(), client, protocol, protocol.body(home("1"), stream=stream))
    usages = []
    make.provider.asked.clear()
    replaying = make(replay=True)
    with replaying.open(**STEP) as access, client(access) as http:
        again = http.post(protocol.path, json=protocol.body(home("2"), stream=stream, metadata={"user_id": "other"}))
        usages.append(replaying.usage(access))
    assert again.content == live[0].content
    assert again.headers["content-type"] == live[0].headers["content-type"]
    assert not make.provider.asked
    assert usages[0].input_tokens == 100
    assert usages[0].cost_usd == pytest.approx(0.0003)


@pytest.mark.parametrize("first", ["first", "first " * 100_000], ids=["short", "long"])
def test_repeats_are_replayed_in_order_and_other_trials_have_their_own(
    make: Any, client: Any, messages: Any, first: str
) -> None:
    """A long answer is written in a thread of its own, and no later one overtakes it."""
    make.provider.script = in_order(*(say(word, pieces=1) for word in (first, "second", "third", "other")))
    body = messages.body()
    recording = make()
    ask(recording, client, messages, body, body, body)
    ask(recording, client, messages, body, trial="i::r[2]")
    replaying = make(replay=True)
    told = [answer.json()["content"][0]["text"] for answer in ask(replaying, client, messages, body, body, body)]
    assert told == [first, "second", "third"]
    assert "other" in ask(replaying, client, messages, body, trial="i::r[2]")[0].text
    with pytest.raises(GatewayError, match="was recorded 3 times by i::r review and is asked once more"):
        ask(replaying, client, messages, body, body, body, body)


def test_another_instance_step_or_repeat_never_stands_in(make: Any, client: Any, messages: Any) -> None:
    ask(make(), client, messages, messages.body(), trial="i::r[2]")
    replaying = make("run", replay=True)
    for asked, told in (
        ({"trial": "i::r[3]"}, "i::r[2] review (repeat 2 instead of 3)"),
        ({"trial": "j::r[2]"}, "i::r[2] review (instance i instead of j)"),
        ({"trial": "i::r[2]", "step": "revision"}, "i::r[2] review (step review instead of revision)"),
        ({"trial": "j::s[1]"}, "i::r[2] review (instance i instead of j, repeat 2 instead of 1)"),
    ):
        with pytest.raises(GatewayError) as caught:
            ask(replaying, client, messages, messages.body(), **asked)
        assert f"the same request was recorded elsewhere alone: {told}" in str(caught.value)
    for trial in ("i::renamed[2]", "i::r[2]"):  # what a reviewer is called decides nothing, and the ledger says whose
        ask(replaying, client, messages, messages.body(), trial=trial)
    lines = [json.loads(line) for line in (make.ledgers / "run.jsonl").read_text().splitlines()]
    assert [line.get("recorded_by") for line in lines] == ["i::r[2] review", None]


def test_a_run_that_records_again_replaces_what_it_said(make: Any, client: Any, messages: Any) -> None:
    body = messages.body()
    make.provider.script = in_order(say("old"), say("older"), say("new", pieces=1))
    ask(make(), client, messages, body, body)
    ask(make(), client, messages, body)
    replaying = make(replay=True)
    assert "new" in ask(replaying, client, messages, body)[0].text
    with pytest.raises(GatewayError, match="was recorded once by i::r review and is asked once more"):
        ask(replaying, client, messages, body, body)


def test_one_changed_byte_misses_and_shows_the_difference(make: Any, client: Any, responses: Any) -> None:
    protocol = responses
    text = "line one\nplease review calc.py\nline three"
    ask(make(), client, protocol, protocol.body("something else entirely"), protocol.body(text))
    make.provider.asked.clear()
    replaying = make(replay=True)
    with pytest.raises(GatewayError) as caught:  # noqa: PT012 - the answer is looked at too
        with replaying.open(**STEP) as access, client(access) as http:
            answer = http.post(protocol.path, json=protocol.body(text.replace("calc.py", "calc.pY")))
            assert answer.status_code == 400
            assert "has no recording" in answer.json()["error"]["message"]
            raise ReviewerError("the client said something about status 400")
    lines = str(caught.value).splitlines()
    assert "has no recording, run without it to make one; the nearest recording differs:" in lines[0]
    assert [line.rpartition(": ")[2] for line in lines if line.startswith(("-", "+")) and "calc" in line] == [
        "please review calc.py",
        "please review calc.pY",
    ]
    assert len(lines) < 12
    assert not make.provider.asked


def test_nothing_recorded_at_all_is_said(make: Any, client: Any, messages: Any) -> None:
    with pytest.raises(GatewayError, match="there is no recording of anthropic/messages in "):
        ask(make(replay=True), client, messages, messages.body())


def test_what_was_tried_again_is_replayed_as_what_came_of_it(make: Any, client: Any, messages: Any) -> None:
    make.provider.script = in_order(fail(429), fail(429), fail(429), say("at last", pieces=1))
    (first,) = ask(make(retries=3), client, messages, messages.body())
    assert first.status_code == 200
    (again,) = ask(make(replay=True), client, messages, messages.body())
    assert again.content == first.content


def test_a_refused_request_is_replayed_with_its_status(make: Any, client: Any, messages: Any) -> None:
    make.provider.script = lambda _: fail(400, "prompt is too long")
    ask(make(), client, messages, messages.body())
    (again,) = ask(make(replay=True), client, messages, messages.body())
    assert (again.status_code, again.json()["error"]["message"]) == (400, "prompt is too long")


def test_a_cut_stream_is_not_recorded(make: Any, client: Any, messages: Any) -> None:
    make.provider.script = lambda _: say("never told to its end", cut=2)
    with make().open(**STEP) as access, client(access) as http:
        with http.stream("POST", messages.path, json=messages.body(stream=True)) as answer:
            next(answer.iter_raw())
    assert not list(make.cassettes.glob("??/*.json"))


def test_a_client_that_leaves_before_its_provider_does_is_recorded(make: Any, client: Any, protocol: Any) -> None:
    make.provider.script = lambda _: say("told to its end", linger=60)
    body, seen = protocol.body(stream=True, stream_options={"include_usage": True}), b""
    with make().open(**STEP) as access, client(access) as http:
        with http.stream("POST", protocol.path, json=body) as answer:
            for chunk in answer.iter_raw():
                seen += chunk
                if any(end in seen for end in (b"message_stop", b"response.completed", b"[DONE]")):
                    break
    (again,) = ask(make(replay=True), client, protocol, body)
    assert again.content == seen


def test_a_client_that_leaves_once_an_answer_is_finished_is_recorded(make: Any, client: Any, chat: Any) -> None:
    """It has not asked for the usage, which its provider tells a moment after that."""
    make.provider.script = lambda _: say("told to its end", pause=0.3)
    gateway = make()
    with gateway.open(**STEP) as access, client(access) as http:
        with http.stream("POST", chat.path, json=chat.body(stream=True)) as answer:
            next(line for line in answer.iter_lines() if '"finish_reason": "' in line)
    assert gateway.usage(access).input_tokens == 100
    (again,) = ask(make(replay=True), client, chat, chat.body(stream=True))
    assert again.status_code == 200


def test_record_false_records_nothing(make: Any, client: Any, messages: Any) -> None:
    ask(make(record=False), client, messages, messages.body())
    assert not list(make.cassettes.glob("??/*.json"))


def test_a_damaged_cassette_is_said_and_not_taken_for_a_miss(make: Any, client: Any, messages: Any) -> None:
    ask(make(), client, messages, messages.body())
    (file,) = make.cassettes.glob("??/*.json")
    file.write_text(file.read_text()[:-20])
    with pytest.raises(GatewayError, match="is damaged or of another version; remove it and record it again"):
        ask(make(replay=True), client, messages, messages.body())


def test_a_cassette_that_a_power_cut_has_emptied_is_a_miss_and_recorded_anew(
    make: Any, client: Any, messages: Any
) -> None:
    ask(make(), client, messages, messages.body())
    (file,) = make.cassettes.glob("??/*.json")
    whole = file.read_bytes()
    file.write_bytes(b"")
    with pytest.raises(GatewayError, match="has no recording, run without it to make one"):
        ask(make(replay=True), client, messages, messages.body())
    ask(make(), client, messages, messages.body())
    assert file.read_bytes() == whole


def test_a_cassette_that_cannot_be_written_breaks_the_step(make: Any, client: Any, messages: Any) -> None:
    make.cassettes.parent.mkdir(exist_ok=True)
    gateway = make()
    with gateway.open(**STEP):
        pass
    make.cassettes.rmdir()
    make.cassettes.write_text("a file is in the way")
    with pytest.raises(GatewayError, match="an answer could not be recorded in "):
        ask(gateway, client, messages, messages.body())


@pytest.mark.parametrize("short", ["none", "1", "s"])
def test_a_key_that_is_a_word_garbles_nothing(
    make: Any, client: Any, chat: Any, monkeypatch: pytest.MonkeyPatch, short: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", short)
    make.provider.script = lambda _: say(f"the choice is {short}", pieces=1)
    (live,) = ask(make(), client, chat, chat.body(f"{short} 1 none"))
    assert f"the choice is {short}" in live.json()["choices"][0]["message"]["content"]
    (again,) = ask(make(replay=True), client, chat, chat.body(f"{short} 1 none"))
    assert again.content == live.content


def test_a_key_with_a_quote_is_taken_out_too(
    make: Any, client: Any, messages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = 'sk-"quoted"-0123456789'
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    make.provider.script = lambda _: say(f"you sent {key}", pieces=1)
    (live,) = ask(make(), client, messages, messages.body(f"it is {key}"))
    (file,) = make.cassettes.glob("??/*.json")
    assert live.json()["content"][0]["text"] == "you sent <key>"
    assert "quoted" not in file.read_text()
    json.loads(file.read_text())


def test_a_request_that_is_nested_without_end_is_refused(make: Any, client: Any, protocol: Any) -> None:
    gateway = make("run")
    with gateway.open(**STEP) as access, client(access) as http:
        for depth in (300, 990, 100_000):
            deep = b'{"model": "scripted", "messages": ' + b"[" * depth + b"]" * depth + b"}"
            answer = http.post(protocol.path, content=deep)
            assert answer.status_code == 400
            assert "nested at most 200 times" in answer.json()["error"]["message"]
    assert "Traceback" not in (make.folder / "run" / "gateway" / "log").read_text()
    assert not make.provider.asked


def test_a_request_that_is_nested_as_deep_as_may_be_is_recorded(make: Any, client: Any, messages: Any) -> None:
    deep: Any = "deep"
    for _ in range(195):
        deep = [deep]
    body = messages.body(metadata_of_mine=deep)
    ask(make(), client, messages, body)
    assert ask(make(replay=True), client, messages, body)[0].status_code == 200


def holding(folder: Path, secret: str) -> list[str]:
    """The files below a folder that hold a text."""
    return [str(file) for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


def test_no_file_holds_a_key_or_a_token(make: Any, client: Any, messages: Any, keys: Any, stream: Any) -> None:
    protocol = messages
    key = keys[protocol.key]
    make.provider.script = lambda _: say(f"somebody told me {key}", pieces=1)
    gateway = make()
    with gateway.open(**STEP) as access, client(access) as http:
        told = f"env says KEY={access.token} and {key}"
        http.post(protocol.path, json=protocol.body(told, stream=stream))
        http.post(f"{protocol.path}/{access.token}", json=protocol.body(told))
        http.post(protocol.path, content=access.token.encode())
    gateway.close()
    (file,) = make.cassettes.glob("??/*.json")
    assert "somebody told me <key>" in json.loads(file.read_text())["answers"]["i::r review"][0]["body"]
    assert holding(make.folder, key) == []
    assert holding(make.folder, access.token) == []
    (make.folder / "leak").write_text(f"x{key}x")
    assert holding(make.folder, key) == [str(make.folder / "leak")]
