"""Reading what was used, wherever a stream is cut into chunks, and pricing it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crab.models import metering
from pytest_crab.models.metering import StreamMeter
from pytest_crab.models.metering import Tokens
from pytest_crab.models.metering import WithoutUsage
from pytest_crab.models.metering import cost_of
from pytest_crab.models.metering import estimate
from pytest_crab.models.metering import price_of
from pytest_crab.models.metering import read_usage
from pytest_crab.settings import Price
from pytest_crab.testing import dialogue
from pytest_crab.testing.provider import say

REPLY = say('he said "usage" and "message_stop"', usage={"input": 7, "output": 5, "cached": 3})
ASKED = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
STREAMS = {api: b"".join(dialogue.events(api, ASKED, REPLY)) for api in dialogue.PATHS.values()}


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(place % len(body) for place in places)})
    return [body[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.parametrize("api", STREAMS)
@given(places=st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_is_metered_wherever_it_is_cut(api: str, places: list[int]) -> None:
    meter = StreamMeter()
    for chunk in cut(STREAMS[api], places):
        meter.feed(chunk)
    total = 10 if api == "messages" else 7  # Anthropic counts what was cached beside the input, OpenAI within it
    assert meter.tokens == Tokens(input=total, output=5, cached=3)
    assert meter.complete


@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_without_its_end_is_not_complete(api: str) -> None:
    events = list(dialogue.events(api, ASKED, REPLY))
    meter = StreamMeter()
    for event in events[:-1]:
        meter.feed(event)
    assert not meter.complete


@given(places=st.lists(st.integers(0, 10_000), max_size=12))
def test_the_usage_of_a_chat_stream_is_hidden_and_nothing_else(places: list[int]) -> None:
    hiding = WithoutUsage()
    shown = b"".join(hiding.feed(chunk) for chunk in cut(STREAMS["chat"], places)) + hiding.rest()
    assert shown == b"".join(dialogue.events("chat", {**ASKED, "stream_options": {}}, REPLY)).replace(
        dialogue._id("chatcmpl", {**ASKED, "stream_options": {}}).encode(), dialogue._id("chatcmpl", ASKED).encode()
    )


def test_who_sees_that_an_answer_is_finished_could_leave_without_its_usage() -> None:
    """So that is not seen before the end of the stream, and neither is anything lost where it has none."""
    *before, finish, usage, last = dialogue.events("chat", ASKED, REPLY)
    hiding = WithoutUsage()
    assert [hiding.feed(event) for event in (*before, finish, usage, last)] == [*before, b"", b"", finish + last]
    without_end = WithoutUsage()
    assert [without_end.feed(event) for event in (*before, finish, usage)] == [*before, b"", b""]
    assert without_end.rest() == finish


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_stream_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch, ending: bytes) -> None:
    monkeypatch.setattr(metering, "MOST_EVENT", 1000)
    meter, hiding = StreamMeter(), WithoutUsage()
    shown = b""
    for _ in range(100):
        meter.feed(b"x" * 100)
        shown += hiding.feed(b"x" * 100)
    assert len(meter._rest) <= 1000
    assert len(hiding.rest()) <= 1000
    events = b"".join(dialogue.events("chat", ASKED, REPLY))
    meter.feed(b"\n" + events)
    shown += hiding.feed(b"\n\n" + ending + events) + hiding.rest()
    assert meter.tokens is not None
    assert meter.complete
    assert shown.startswith(b"x" * 10_000)
    assert b'"usage":{' not in shown


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"data: 1", b"", b"\r"]), max_size=12))
def test_whatever_comes_is_shown(chunks: list[bytes]) -> None:
    hiding = WithoutUsage()
    assert b"".join([*map(hiding.feed, chunks), hiding.rest()]) == b"".join(chunks)


def test_an_answer_without_its_end_is_estimated_above_what_was_seen() -> None:
    price = Price(input=1.0, output=10.0, cached=0.1, cache_write=2.0)
    meter = StreamMeter()
    for event in list(dialogue.events("messages", ASKED, REPLY))[:-1]:
        meter.feed(event)
    least = cost_of(meter.tokens, price)
    assert least is not None
    assert estimate({"max_tokens": 1}, meter, 0.1, price) >= least
    assert estimate({"max_tokens": 500}, None, 0.1, price) == pytest.approx(500e-5, abs=5e-5)
    assert estimate({}, None, 100.0, price) == pytest.approx(20_000e-5, abs=5e-5)
    assert estimate({"text": "x" * 10_000}, None, 0.0, price) > estimate({}, None, 0.0, price) + 0.009
    assert estimate({"max_tokens": 10**400}, None, 0.0, price) == pytest.approx(1e4)


@pytest.mark.parametrize("usage", [None, {}, 3, {"tokens": 1}, [], {"input_tokens": 10**400, "output_tokens": 1}])
def test_what_is_no_usage_is_not_measured(usage: Any) -> None:
    assert read_usage(usage) is None


def test_a_kind_of_token_without_a_price_makes_the_cost_unknown() -> None:
    price = Price(input=1.0, output=2.0)
    assert cost_of(Tokens(input=10, output=1), price) == pytest.approx(12e-6)
    assert cost_of(Tokens(input=10, output=1, cached=1), price) is None
    assert cost_of(Tokens(input=10, output=1, cache_write=1), price) is None
    assert cost_of(Tokens(input=10, output=1), None) is None
    assert cost_of(None, price) is None


def test_the_longest_pattern_that_fits_gives_the_price() -> None:
    prices = {name: Price(input=number, output=0.0) for number, name in enumerate(("*", "claude-*", "claude-x"))}
    assert [price_of(model, prices).input for model in ("gpt", "claude-y", "claude-x")] == [0, 1, 2]  # type: ignore[union-attr]
    assert price_of("gpt", {"claude-*": prices["*"]}) is None
