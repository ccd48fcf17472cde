"""Reading what was used, wherever a stream is cut into chunks, and pricing it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.models.prices import (
    LONGEST_ANSWER,
    LONGEST_REQUEST,
    Prices,
    bound_cost,
    cost_of,
    estimate,
    own_price,
    published_price,
)
from pytest_crab.models.request_body import write_document
from pytest_crab.models.usage import StreamMeter, Tokens, read_usage
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


def test_an_answer_without_its_end_is_estimated_above_what_was_seen() -> None:
    price = Price(input=1.0, output=10.0, cached=0.1, cache_write=2.0)
    meter = StreamMeter()
    for event in list(dialogue.events("messages", ASKED, REPLY))[:-1]:
        meter.feed(event)
    least = cost_of(meter.tokens, price)
    assert least is not None
    assert estimate({"max_tokens": 1}, 9, price, seconds=0.1, tokens=meter.tokens, seen=meter.seen) >= least
    assert estimate({"max_tokens": 500}, 9, price, seconds=0.1) == pytest.approx(500e-5, abs=5e-5)
    assert estimate({}, 9, price, seconds=100.0) == pytest.approx(20_000e-5, abs=5e-5)
    assert estimate({}, 10_000, price, seconds=0.0) > estimate({}, 2, price, seconds=0.0) + 0.009
    assert estimate({"max_tokens": 10**400}, 2, price, seconds=0.0) == pytest.approx(1e4)


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
    body = write_document(ask)
    assert bound_cost(ask, body, Price(input=1.0, output=1000.0), writes=False) == pytest.approx(500e-6, abs=50e-6)


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


MANY = [
    ({"max_tokens": 10}, 10),
    ({"max_tokens": 10, "n": 128}, 1280),
    ({"max_tokens": 10, "n": 2, "best_of": 20}, 200),
    ({"max_tokens": 1, "max_completion_tokens": 1000}, 1000),
    ({"max_completion_tokens": 1, "max_output_tokens": "1000"}, 1000),
    ({"max_tokens": 10, "max_completion_tokens": None}, 10),
    ({"max_tokens": 10, "n": "128"}, 1280),
    ({"max_tokens": 10, "n": 1.5}, 20),
    ({"max_tokens": 10, "prompt": ["one", "two", "three"], "n": 2}, 60),
    ({"max_tokens": 10, "prompt": [[1, 2], [3]]}, 20),
    ({"max_tokens": 10, "prompt": [1, 2, 3]}, 10),
    ({}, LONGEST_ANSWER),
    ({"n": 3}, 3 * LONGEST_ANSWER),
    ({"max_tokens": 1, "max_completion_tokens": -1}, LONGEST_ANSWER),
    ({"max_tokens": 0}, LONGEST_ANSWER),
    ({"max_tokens": "many"}, LONGEST_ANSWER),
]


@pytest.mark.parametrize(("ask", "tokens"), MANY, ids=str)
def test_the_bound_has_every_answer_at_the_largest_of_its_limits(ask: dict[str, Any], tokens: int) -> None:
    price = Price(input=0.0, output=1.0)
    assert bound_cost(ask, write_document(ask), price) == pytest.approx(tokens / 1e6)
    if tokens < LONGEST_ANSWER:  # the estimate of one whose end is not known takes the same
        assert estimate(ask, 1, price, seconds=1e6) == pytest.approx(tokens / 1e6)


@pytest.mark.parametrize(
    ("ask", "longest"),
    [
        ({"previous_response_id": "resp_1"}, 1),
        ({"previous_response_id": None}, 0),
        ({"conversation": {"id": "conv_1"}}, 1),
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://x.example/y"}}]}]}, 1),
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aa"}}]}]}, 0),
        ({"input": [{"type": "input_file", "file_id": "file-1"}]}, 1),
        ({"messages": [{"role": "user", "content": 'say {"url":"https://x.example", "file_id":"1"}'}]}, 0),
        ({"tools": [{"input_schema": {"properties": {"url": {"type": "string"}}}}]}, 0),
    ],
    ids=str,
)
def test_what_lies_elsewhere_may_be_as_long_as_any_request(ask: dict[str, Any], longest: int) -> None:
    cost = bound_cost({**ask, "max_tokens": 1}, write_document(ask), Price(input=1.0, output=0.0))
    assert int(cost * 1e6) // LONGEST_REQUEST == longest


def test_a_list_of_models_to_choose_from_has_no_price() -> None:
    ask = {"model": "claude-3-haiku-20240307", "models": ["claude-3-haiku-20240307", "claude-3-opus-20240229"]}
    assert Prices({"*": HAIKU}).find(ask, ANTHROPIC) is None
