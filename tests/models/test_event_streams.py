"""What is taken out of streams on their way, wherever they are cut into chunks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from pytest_crab.models import event_streams, usage
from pytest_crab.models.event_streams import KeyFilter, UsageEventFilter
from pytest_crab.models.usage import StreamMeter
from pytest_crab.testing import dialogue
from pytest_crab.testing.provider import say

REPLY = say('he said "usage" and "message_stop"', usage={"input": 7, "output": 5, "cached": 3})
ASKED = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
STREAMING = sorted({*dialogue.PATHS.values()} - {"embeddings"})
STREAMS = {api: b"".join(dialogue.events(api, ASKED, REPLY)) for api in STREAMING}
KEY = "sk-planted-ab/0123456789"
PLACES = st.lists(st.integers(0, 10_000), max_size=12)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(place % len(body) for place in places)})
    return [body[start:end] for start, end in itertools.pairwise(edges)]


@given(places=PLACES)
def test_the_usage_of_a_chat_stream_is_hidden_and_nothing_else(places: list[int]) -> None:
    hiding = UsageEventFilter()
    shown = b"".join(hiding.feed(chunk) for chunk in cut(STREAMS["chat"], places)) + hiding.rest()
    assert shown == b"".join(dialogue.events("chat", {**ASKED, "stream_options": {}}, REPLY)).replace(
        dialogue._id("chatcmpl", {**ASKED, "stream_options": {}}).encode(), dialogue._id("chatcmpl", ASKED).encode()
    )


def test_who_sees_that_an_answer_is_finished_could_leave_without_its_usage() -> None:
    """So that is not seen before the end of the stream, and neither is anything lost where it has none."""
    *before, finish, usage, last = dialogue.events("chat", ASKED, REPLY)
    hiding = UsageEventFilter()
    assert [hiding.feed(event) for event in (*before, finish, usage, last)] == [*before, b"", b"", finish + last]
    without_end = UsageEventFilter()
    assert [without_end.feed(event) for event in (*before, finish, usage)] == [*before, b"", b""]
    assert without_end.rest() == finish


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_stream_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch, ending: bytes) -> None:
    for module in (event_streams, usage):
        monkeypatch.setattr(module, "MOST_EVENT", 1000)
    meter, hiding = StreamMeter(), UsageEventFilter()
    shown = b""
    for _ in range(100):
        meter.feed(b"x" * 100)
        shown += hiding.feed(b"x" * 100)
    assert len(meter._rest) <= 1000
    rest = hiding.rest()
    assert len(rest) <= 1000
    shown += rest
    events = b"".join(dialogue.events("chat", ASKED, REPLY))
    meter.feed(b"\n" + events)
    shown += hiding.feed(b"\n\n" + ending + events) + hiding.rest()
    assert meter.tokens is not None
    assert meter.complete
    assert shown.startswith(b"x" * 10_000)
    assert b'"usage":{' not in shown


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"data: 1", b"", b"\r"]), max_size=12))
def test_whatever_comes_is_shown(chunks: list[bytes]) -> None:
    hiding = UsageEventFilter()
    assert b"".join([*map(hiding.feed, chunks), hiding.rest()]) == b"".join(chunks)


def passed(stream: bytes, places: list[int]) -> bytes:
    keys = KeyFilter(KEY)
    return b"".join(keys.feed(chunk) for chunk in cut(stream, places)) + keys.rest()


def delta(text: str, index: int = 0) -> bytes:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    return b"event: content_block_delta\ndata: %s\n\n" % json.dumps(event).encode()


def texts(stream: bytes, index: int = 0) -> list[str]:
    events = [json.loads(line[5:]) for line in stream.splitlines() if line.startswith(b"data:")]
    return [event["delta"]["text"] for event in events if event["index"] == index]


def in_pieces(text: str, places: Sequence[int]) -> list[str]:
    return [piece.decode() for piece in cut(text.encode(), list(places))]


@pytest.mark.parametrize("api", STREAMS)
@given(places=PLACES)
def test_a_stream_without_a_key_keeps_every_byte(api: str, places: list[int]) -> None:
    assert passed(STREAMS[api], places) == STREAMS[api]


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"data: 1", b"", b"\r"]), max_size=12))
def test_whatever_comes_passes_the_keys_filter(chunks: list[bytes]) -> None:
    keys = KeyFilter(KEY)
    assert b"".join([*map(keys.feed, chunks), keys.rest()]) == b"".join(chunks)


@pytest.mark.parametrize("api", STREAMS)
@given(places=PLACES, pieces=st.integers(1, 40))
def test_an_echoed_key_does_not_pass_however_it_is_cut(api: str, places: list[int], pieces: int) -> None:
    """Into chunks of bytes and into events of a few characters."""
    reply = say(f"your key is {KEY}, or {KEY}{KEY} twice", pieces=pieces)
    shown = passed(b"".join(dialogue.events(api, ASKED, reply)), places)
    said = "".join(value for value in told(shown))
    assert KEY not in said
    assert KEY not in shown.decode()
    assert KEY[4:] not in said


def told(stream: bytes) -> list[str]:
    """All texts in the data of all events, in their order, as whoever puts pieces together has them."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    for line in stream.splitlines():
        if line.startswith(b"data: {"):
            event = json.loads(line[5:])
            walk([event.get("delta"), event.get("choices")])
    return [text for text in found if text not in ("text_delta", "stop", "end_turn")]


@given(st.lists(st.integers(0, 60), max_size=8), st.sampled_from(["", "then ", "sk-plan ", "sk-"]))
def test_what_stands_around_a_key_in_pieces_is_kept(places: list[int], before: str) -> None:
    pieces = in_pieces(f"{before}{KEY} behind it", places)
    said = "".join(texts(passed(b"".join(map(delta, pieces)), [])))
    assert said.endswith("<key> behind it")
    assert said.startswith(before)
    assert len(said) <= len(f"{before}sk-<key> behind it")  # the shortest pieces do not wait


def test_a_key_that_is_escaped_or_in_two_texts_side_by_side_is_found() -> None:
    escaped = delta("x").replace(b'"x"', json.dumps(KEY).replace("/", "\\/").replace("k", "\\u006B").encode())
    assert texts(passed(escaped, [])) == ["<key>"]
    stream = b"".join([delta(KEY[:9]), delta("other", 1), delta(KEY[9:]), delta(" text", 1)])
    shown = passed(stream, [])
    assert "".join(texts(shown)) == "<key>"
    assert texts(shown, 1) == ["other", " text"]


def test_what_only_begins_like_a_key_waits_for_the_next_piece_alone() -> None:
    keys = KeyFilter(KEY)
    begun, other, after = delta(f"it is {KEY[:9]}"), delta("meanwhile", 1), delta(" or so")
    assert [keys.feed(event) for event in (begun, other, after)] == [b"", b"", begun + other + after]
    assert keys.feed(delta("sk-")) == delta("sk-")
    assert (keys.feed(begun), keys.rest()) == (b"", begun)
