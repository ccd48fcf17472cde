"""Reading what was used, wherever a stream is cut into chunks, and pricing it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.models import usage as usage_module
from pytest_crab.models.prices import Prices, bound_cost, cost_of, estimate, own_price, published_price
from pytest_crab.models.usage import StreamMeter, Tokens, UsageEventFilter, read_usage
from pytest_crab.settings import Price
from pytest_crab.testing import dialogue
from pytest_crab.testing.provider import say

REPLY = say('he said "usage" and "message_stop"', usage={"input": 7, "output": 5, "cached": 3})
ASKED = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
STREAMING = sorted({*dialogue.PATHS.values()} - {"embeddings"})
STREAMS = {api: b"".join(dialogue.events(api, ASKED, REPLY)) for api in STREAMING}


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
    monkeypatch.setattr(usage_module, "MOST_EVENT", 1000)
    meter, hiding = StreamMeter(), UsageEventFilter()
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
    hiding = UsageEventFilter()
    assert b"".join([*map(hiding.feed, chunks), hiding.rest()]) == b"".join(chunks)


def test_an_answer_without_its_end_is_estimated_above_what_was_seen() -> None:
    price = Price(input=1.0, output=10.0, cached=0.1, cache_write=2.0)
    meter = StreamMeter()
    for event in list(dialogue.events("messages", ASKED, REPLY))[:-1]:
        meter.feed(event)
    least = cost_of(meter.tokens, price)
    assert least is not None
    assert estimate({"max_tokens": 1}, price, seconds=0.1, tokens=meter.tokens, seen=meter.seen) >= least
    assert estimate({"max_tokens": 500}, price, seconds=0.1) == pytest.approx(500e-5, abs=5e-5)
    assert estimate({}, price, seconds=100.0) == pytest.approx(20_000e-5, abs=5e-5)
    assert estimate({"text": "x" * 10_000}, price, seconds=0.0) > estimate({}, price, seconds=0.0) + 0.009
    assert estimate({"max_tokens": 10**400}, price, seconds=0.0) == pytest.approx(1e4)


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
    assert [own_price(model, prices).input for model in ("gpt", "claude-y", "claude-x")] == [0, 1, 2]  # type: ignore[union-attr]
    assert own_price("gpt", {"claude-*": prices["*"]}) is None


ANTHROPIC, OPENAI = "https://api.anthropic.com", "https://api.openai.com/v1"
#: As its provider publishes them, in US dollars per million tokens.
HAIKU = Price(input=0.25, output=1.25, cached=0.03, cache_write=0.3, cache_write_1h=0.5)


def test_a_providers_own_models_have_their_published_price_and_crab_yaml_overrides_it() -> None:
    ask = {"model": "claude-3-haiku-20240307"}
    assert Prices({}).find(ask, ANTHROPIC) == HAIKU
    own = Price(input=7.0, output=8.0)
    assert Prices({"claude-*": own}).find(ask, ANTHROPIC) == own


def test_a_model_for_embeddings_is_priced_by_what_it_reads() -> None:
    ask = {"model": "text-embedding-3-small", "input": "x" * 1000}
    assert Prices({}).find(ask, OPENAI) is None
    price = Prices({}).find(ask, OPENAI, writes=False)
    assert price == Price(input=0.02, output=0.0)
    assert bound_cost(ask, Price(input=1.0, output=1000.0), writes=False) == pytest.approx(500e-6, abs=50e-6)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("claude-3-haiku-20240307", "http://127.0.0.1:8000"),
        ("claude-3-haiku-20240307", "https://proxy.example.org/anthropic"),
        ("claude-3-haiku-20240307", OPENAI),
        ("no-such-model", ANTHROPIC),
        ("", OPENAI),
    ],
)
def test_a_price_that_nobody_publishes_is_unknown_and_not_zero(model: str, url: str) -> None:
    price = Prices({}).find({"model": model}, url)
    assert price is None
    assert cost_of(Tokens(input=10, output=1), price) is None


@pytest.mark.parametrize("terms", [{"service_tier": "priority"}, {"speed": "fast"}])
def test_other_terms_have_another_price_that_is_not_known(terms: dict[str, str]) -> None:
    ask = {"model": "claude-3-haiku-20240307", **terms}
    assert Prices({}).find(ask, ANTHROPIC) is None
    assert Prices({"*": HAIKU}).find(ask, ANTHROPIC) == HAIKU


def test_long_requests_have_the_price_of_their_tier_and_unknown_lengths_the_highest() -> None:
    short, long, highest = (published_price("claude-sonnet-4-5", ANTHROPIC, read) for read in (1000, 300_000, None))
    assert short is not None
    assert long is not None
    assert (short.input, long.input, long.output) == (3.0, 6.0, 22.5)
    assert highest == long


def test_what_is_cached_for_an_hour_has_its_own_price() -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 30}
    tokens = read_usage({**usage, "cache_creation": {"ephemeral_1h_input_tokens": 20}})
    assert tokens == Tokens(input=31, output=1, cache_write=30, cache_write_1h=20)
    assert cost_of(tokens, HAIKU) == pytest.approx((0.25 + 1.25 + 10 * 0.3 + 20 * 0.5) / 1e6)
    assert cost_of(tokens, Price(input=1.0, output=1.0, cache_write=2.0)) == pytest.approx(62e-6)
