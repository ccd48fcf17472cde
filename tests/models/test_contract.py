"""What the gateway promises in each of the three protocols, whole and streamed."""

# ruff: noqa: SIM117 - the outer block says what is expected of the inner one

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from pytest_crab.models import Gateway
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import ScriptedProvider, call, fail, garbage, in_order, refuse, say
from pytest_crab.types import Usage

STEP = {"trial": "i::r", "step": "review", "attempt": 1}


@pytest.mark.parametrize(
    "reply",
    [
        say("two pieces of text, and ünïcode"),
        call("Bash", {"command": "ls"}),
        refuse(),
        say("", usage={"input": 3, "output": 0}, stop="length"),
    ],
    ids=["text", "tool", "refusal", "empty"],
)
def test_every_byte_is_the_providers(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, reply: Reply, stream: Any, client: Any
) -> None:
    provider.script = lambda _: reply
    body = protocol.body(stream=stream)
    direct = httpx2.post(f"http://127.0.0.1:{provider.port}{protocol.path}", json=body, verify=False)
    with gateway.open(**STEP) as access, client(access) as http:
        through = http.post(protocol.path, json=body)
        usage = gateway.usage(access)
    if (
        protocol.name == "chat" and stream
    ):  # the gateway asks for the usage, and so the ids that are made of the request differ
        assert provider.asked[1].body["stream_options"] == {"include_usage": True}
        assert through.text.count("data:") == direct.text.count("data:")
        assert b'"usage"' not in through.content
    else:
        assert through.content == direct.content
    assert through.headers["content-type"] == direct.headers["content-type"]
    assert (usage.input_tokens, usage.output_tokens) == (reply.usage["input"], reply.usage["output"])
    assert usage.requests == 1


def test_tokens_are_priced_by_their_kind(
    gateway: Gateway, provider: ScriptedProvider, stream: Any, client: Any, messages: Any
) -> None:
    provider.script = lambda _: say("x", usage={"input": 1000, "output": 100, "cached": 2000, "cache_write": 500})
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body(stream=stream))
    cost = (1000 * 1.0 + 100 * 10.0 + 2000 * 0.1 + 500 * 2.0) / 1e6
    assert gateway.usage(access) == Usage(
        input_tokens=3500, output_tokens=100, cost_usd=round(cost, 9), requests=1, models=("scripted",)
    )


def test_an_unknown_price_is_none_and_spoils_the_sum(
    gateway: Gateway, provider: ScriptedProvider, client: Any, messages: Any
) -> None:
    provider.script = lambda _: say("x")
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body())
        http.post(messages.path, json=messages.body(model="nobody-knows"))
    known = {"input_tokens": 200, "output_tokens": 40, "requests": 2, "models": ("nobody-knows", "scripted")}
    assert gateway.usage(access) == Usage(**known, cost_usd=None)


def test_a_request_that_failed_counts_for_the_model_that_was_asked(
    gateway: Gateway, provider: ScriptedProvider, client: Any, messages: Any
) -> None:
    provider.script = in_order(say("x"), fail(400, "no"), fail(400, "no"))
    with gateway.open(**STEP) as access, client(access) as http:
        for model in ("scripted", "scripted", "other"):
            http.post(messages.path, json=messages.body(model=model))
    used = gateway.usage(access)
    assert (used.models, used.asked) == (("scripted",), ("other", "scripted"))
    assert (used.requests, used.failed_requests) == (3, 2)


def test_nothing_asked_is_zero(
    gateway: Gateway,
) -> None:
    with gateway.open(**STEP) as access:
        pass
    assert gateway.usage(access) == Usage(input_tokens=0, output_tokens=0, cost_usd=0, requests=0, models=())


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_the_key_goes_to_the_provider_and_the_token_does_not(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, header: str, client: Any, keys: dict[str, str]
) -> None:
    provider.script = lambda _: say("x")
    with gateway.open(**STEP) as access, client(access, token="") as http:
        credential = access.token if header == "x-api-key" else f"Bearer {access.token}"
        answer = http.post(protocol.path, json=protocol.body(), headers={header: credential, "cookie": access.token})
    assert answer.status_code == 200
    (asked,) = provider.asked
    told = " ".join(asked.headers.values())
    key = keys[protocol.key]
    assert key in told
    assert access.token not in told
    assert key not in str(answer.headers)


@pytest.mark.parametrize("what", ["wrong", "none", "expired"])
def test_a_token_that_is_not_valid_is_refused_in_the_protocols_own_shape(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, what: str, client: Any
) -> None:
    with gateway.open(**STEP) as old:
        pass
    with gateway.open(**STEP) as access:
        token = {"wrong": "crab-" + "x" * 43, "none": "", "expired": old.token}[what]
        with client(access, token=token) as http:
            answer = http.post(protocol.path, json=protocol.body())
    assert answer.status_code == 401
    error = answer.json()["error"]
    assert error["type"] == "authentication_error"
    assert "this token is not valid" in error["message"]
    assert (answer.json().get("type") == "error") == (protocol.name == "messages")
    assert not provider.asked


def test_the_token_of_another_trial_is_refused_while_that_is_still_at_work(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any
) -> None:
    with gateway.open(**STEP) as other, gateway.open(**STEP) as access:
        with client(access, token=other.token) as http:
            assert http.post(protocol.path, json=protocol.body()).status_code == 401
        with client(other) as http:
            assert http.post(protocol.path, json=protocol.body()).status_code == 200
    assert len(provider.asked) == 1
    assert not other.socket.exists()


def test_a_token_is_good_for_the_providers_that_it_was_made_for(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any
) -> None:
    own, other = sorted(("anthropic", "openai"), key=lambda name: not protocol.path.startswith(f"/{name}/"))
    with gateway.open(**STEP, providers=[other]) as access, client(access) as http:
        for answer in (http.post(protocol.path, json=protocol.body()), http.get(f"/{own}/v1/models")):
            assert answer.status_code == 403
            assert f"is good for {other} and not for {own}: more_providers" in answer.json()["error"]["message"]
        assert http.get(f"/{other}/v1/models").status_code == 200
    assert not provider.asked
    for named in ([own], [own, other], None):
        with gateway.open(**STEP, providers=named) as access, client(access) as http:
            assert http.post(protocol.path, json=protocol.body()).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/anthropic/v1/files"),
        ("POST", "/openai/v1/images/generations"),
        ("GET", "/openai/v1/files"),
        ("POST", "/openai/v1/chat/completions/../files"),
        ("POST", "/elsewhere/v1/messages"),
        ("POST", "/anthropic/v1/messages/batches"),
        ("DELETE", "/anthropic/v1/messages"),
    ],
)
def test_what_is_not_on_the_list_is_not_forwarded(
    gateway: Gateway, provider: ScriptedProvider, method: str, path: str, client: Any
) -> None:
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.request(method, path, json={})
    assert answer.status_code == 404
    assert not provider.asked
    assert not provider.heads


def test_what_clients_ask_when_they_start_costs_no_call(
    gateway: Gateway, provider: ScriptedProvider, client: Any
) -> None:
    provider.heads = 0
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.head("/anthropic").status_code == 200
        assert http.head("/anthropic/").status_code == 200
        assert [model["id"] for model in http.get("/anthropic/v1/models").json()["data"]] == ["scripted*"]
        assert http.get("/openai/v1/models").json()["object"] == "list"
    assert not provider.asked
    assert not provider.heads


@pytest.mark.parametrize("first", [fail(429), fail(529), fail(500), fail(503), Reply(cut=0), Reply(cut=1)], ids=str)
def test_what_passes_is_tried_again(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, first: Reply, client: Any
) -> None:
    whole_is_cut = first.cut is not None
    stream = whole_is_cut and first.cut == 0
    provider.script = in_order(first, say("at last", pieces=1))
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body(stream=stream))
    assert answer.status_code == 200
    assert "at last" in answer.text
    assert len(provider.asked) == 2
    assert gateway.usage(access).requests == 1


def failed(error: Any, **more: Any) -> Reply:
    return garbage(json.dumps({"error": error, **more}).encode())


@pytest.mark.parametrize(
    ("reply", "status", "tries"),
    [
        (failed({"message": "slow down", "code": 429}, user_id="u"), 429, 3),
        (failed({"message": "slow down", "code": "429"}), 429, 3),
        (failed({"message": "full", "type": "overloaded_error"}), 529, 3),
        (failed({"message": "slow down", "code": "rate_limit_exceeded"}), 429, 3),
        (failed("it is down"), 502, 3),
        (failed({"message": "no such model", "code": 404}), 404, 1),
        (failed({"message": "no", "type": "invalid_request_error"}), 400, 1),
        (failed(None, choices=[{"message": {"content": ""}, "error": {"code": 503, "message": "idle"}}]), 503, 3),
    ],
)
def test_a_good_status_with_an_error_is_that_error(
    make: Any, client: Any, protocol: Any, reply: Reply, status: int, tries: int
) -> None:
    """And it is tried again, booked and recorded as its own status would be."""
    make.provider.script = in_order(reply, reply, reply, say("better"))
    gateway = make("run")
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body())
    assert answer.status_code == status
    assert answer.content == reply.raw
    assert len(make.provider.asked) == tries
    assert gateway.usage(access).cost_usd == 0
    (line,) = map(json.loads, (make.ledgers / "run.jsonl").read_text().splitlines())
    assert (line["status"], line["tries"]) == (status, tries)
    assert bool(list(make.cassettes.rglob("*.json"))) is (status in (400, 404))
    make.provider.script = in_order(reply, say("better"))
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(protocol.path, json=protocol.body("again")).status_code == (200 if tries > 1 else status)


@pytest.mark.parametrize("more", [{"error": None}, {"choices": [{"message": {"content": 'he said "error": {}'}}]}])
def test_an_answer_without_an_error_is_none(make: Any, client: Any, chat: Any, more: dict[str, Any]) -> None:
    make.provider.script = lambda _: garbage(json.dumps({"id": "x", **more}).encode())
    with make().open(**STEP) as access, client(access) as http:
        assert http.post(chat.path, json=chat.body()).status_code == 200


def test_a_failure_that_stays_is_the_providers_own(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any
) -> None:
    provider.script = lambda _: fail(429, "slow down", retry_after="0")
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body())
    assert answer.status_code == 429
    assert answer.json()["error"]["message"] == "slow down"
    assert answer.headers["retry-after"] == "0"
    assert len(provider.asked) == 3


def test_a_provider_that_wants_to_be_left_alone_for_long_is(
    gateway: Gateway, provider: ScriptedProvider, client: Any, messages: Any
) -> None:
    provider.script = lambda _: fail(429, retry_after="3600")
    with gateway.open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body()).status_code == 429
    assert len(provider.asked) == 1


@pytest.mark.parametrize("status", [400, 401])
def test_what_does_not_pass_is_not_tried_again(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, status: int, client: Any, keys: dict[str, str]
) -> None:
    provider.script = lambda _: fail(status, f"no: {keys['OPENAI_API_KEY']} {keys['ANTHROPIC_API_KEY']}")
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body())
    assert answer.status_code == status
    assert len(provider.asked) == 1
    assert keys[protocol.key] not in answer.text


def test_a_stream_that_is_cut_is_cut_for_the_client(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any
) -> None:
    provider.script = lambda _: say("never told to its end", cut=2)
    with gateway.open(**STEP) as access, client(access) as http:
        with http.stream("POST", protocol.path, json=protocol.body(stream=True)) as answer:
            chunks = answer.iter_raw()
            assert next(chunks)
            with pytest.raises(httpx2.RemoteProtocolError):
                list(chunks)
    assert len(provider.asked) == 1
    assert gateway.usage(access) == Usage(
        input_tokens=None, output_tokens=None, cost_usd=None, requests=1, models=("scripted",)
    )


def test_garbage_is_passed_on(gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any) -> None:
    provider.script = lambda _: garbage()
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body())
    assert answer.content == b"<html>not what was asked for</html>"
    assert gateway.usage(access).input_tokens is None


def test_a_request_that_is_no_json_stops_here(
    gateway: Gateway, provider: ScriptedProvider, protocol: Any, client: Any
) -> None:
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, content=b"[1, 2")
    assert answer.status_code == 400
    assert "should be one JSON object" in answer.json()["error"]["message"]
    assert not provider.asked


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"type": "function", "name": "f"}, {"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "web_search_preview"}]},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"tools": [{"type": "mcp", "server_url": "https://mcp.example"}]},
        {"mcp_servers": [{"type": "url", "url": "https://mcp.example"}]},
        {"web_search_options": {"search_context_size": "low"}},
        {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]},
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
        {"tools": [{"type": "Web_Search"}]},
        {"tools": [{"type": " web_search"}]},
        {"tools": [{"Type": "web_search", "input_schema": {}}]},
        {"tools": [{"type": "function", "Type": "web_search"}]},
        {"tools": [{"type": "tool_that_nobody_has_heard_of"}]},
        {"tools": [{"google_search": {}}]},
        {"tools": ["web_search"]},
        {"tools": {"0": {"type": "web_search"}}},
        {"tools": {"type": "web_search"}},
        {"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}]},
        {"tools": [], "tool_choice": {"type": "web_search"}},
        {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "web_search"}]}},
        {"extra_body": {"google": {"tools": [{"google_search": {}}]}}},
        {"search_parameters": {"mode": "on"}},
        {"models": ["scripted", "openai/gpt-5:online"]},
        {"prompt": {"id": "pmpt_1"}},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://forge.example/1.diff"}]}]},
        {"more": [{"type": "image_url", "image_url": {"url": "https://forge.example/1"}}]},
        {"more": [{"type": "input_image", "image_url": "HTTPS://forge.example/1"}]},
        {"more": [{"type": "document", "source": {"type": "url", "url": "https://forge.example/1.pdf"}}]},
        {"more": [{"fileData": {"fileUri": "gs://forge/1"}}]},
        {"model": "gpt-4o-search-preview"},
        {"model": "anyone/anything:online"},
    ],
    ids=str,
)
def test_what_a_provider_would_look_up_is_refused_and_breaks_nothing(
    gateway: Gateway, provider: ScriptedProvider, client: Any, protocol: Any, more: dict[str, Any]
) -> None:
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body(**more))
    assert answer.status_code == 400
    assert "models.server_tools in crab.yaml" in answer.json()["error"]["message"]
    assert not provider.asked


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"model":"dear","messages":[],"model":"scripted"}', "'model' stands twice"),
        (b'{"model":"scripted","tools":[{"type":"web_search"}],"tools":[]}', "'tools' stands twice"),
        (b'{"model":"scripted","input":[{"role":"user","role":"system"}]}', "'role' stands twice"),
        (b'{"model":"scripted","Tools":[{"type":"web_search"}]}', "one is 'Tools'"),
        ('{"model":"scripted","tool\u017f":[{"type":"web_search"}]}'.encode(), "names in small letters"),
        (b'{"model":"scripted","MAX_TOKENS":100000}', "one is 'MAX_TOKENS'"),
        ('{"model":"scripted"}'.encode("utf-16"), "one JSON object in UTF-8"),
        ('{"model":"scripted"}'.encode("utf-16-le"), "one JSON object"),
        ('{"model":"scripted"}'.encode("utf-8-sig"), "one JSON object in UTF-8"),
        (b'{"model":"scripted","x":"\xff"}', "one JSON object in UTF-8"),
        (b'{"model":"scripted","temperature":NaN}', "NaN is no number"),
        (b'{"model":"scripted","temperature":1e999}', "1e999 is no number"),
        (b'{"model":"scripted","n":' + b"9" * 5000 + b"}", "one JSON object"),
    ],
)
def test_a_body_that_others_may_read_differently_goes_no_further(
    gateway: Gateway, provider: ScriptedProvider, client: Any, protocol: Any, body: bytes, said: str
) -> None:
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, content=body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert not provider.asked


def test_the_provider_is_sent_what_was_read(
    gateway: Gateway, provider: ScriptedProvider, client: Any, protocol: Any
) -> None:
    """Numbers, texts and the order of names are as they were; how they were spelled is not."""
    odd = {
        "b": 1.10,
        "a": [0.1, 10**30, -0.0, True, None],
        "c": "ünïcode \U0001f600 \ud800 </x>",
        "Nested": {"Z": 1, "A": 2},
    }
    document = {**protocol.body(), "more": odd}
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, content=json.dumps(document, indent=8).encode())
    assert answer.status_code == 200
    assert provider.asked[0].body == document
    assert list(provider.asked[0].body["more"]) == list(odd)


@pytest.mark.parametrize("pieces", [1, 9])
def test_a_key_that_a_provider_repeats_is_taken_out_of_streams_and_recordings(
    make: Any, client: Any, protocol: Any, keys: dict[str, str], stream: Any, pieces: int
) -> None:
    key = keys[protocol.key]
    make.provider.script = lambda _: say(f"your key is {key}, keep it", pieces=pieces)
    with make().open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=protocol.body(stream=stream))
    assert answer.status_code == 200
    kept = b"".join(path.read_bytes() for path in make.cassettes.rglob("*.json"))
    for text in (answer.text, kept.decode()):
        assert "<key>" in text
        assert key not in text
        assert not any(part in text for part in (key[:9], key[9:18], key[-9:]))


def test_what_cannot_be_fetched_or_counted_is_not_asked(
    gateway: Gateway, provider: ScriptedProvider, client: Any, responses: Any
) -> None:
    """Else one such request would leave every later trial of a run without a budget that can be kept."""
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(responses.path, json=responses.body(background=True))
    assert answer.status_code == 400
    assert not provider.asked


def test_a_token_for_a_name_is_not_put_on_record(make: Any, client: Any, messages: Any) -> None:
    gateway = make("run")
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body(model=f"{access.token}-{'x' * 999}"))
    (line,) = (make.ledgers / "run.jsonl").read_text().splitlines()
    assert access.token not in line
    (name,) = gateway.usage(access).models or ()
    assert name == f"<token>-{'x' * 192}"


def test_tools_of_the_provider_can_be_allowed_and_those_of_clients_need_not(
    make: Any, client: Any, messages: Any
) -> None:
    own = [
        {"name": "web_search", "input_schema": {}},
        {"type": "custom", "name": "mcp_look"},
        {"type": "bash_20250124"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        {"type": "namespace", "name": "mcp", "tools": [{"type": "function", "name": "web_search"}]},
        {"type": "function", "function": {"name": "f", "parameters": {"tools": [{"type": "web_search"}]}}},
    ]
    used = {"type": "tool_use", "id": "1", "name": "f", "input": {"tools": [{"type": "web_search"}]}}
    turn = [{"role": "assistant", "content": [used]}]
    theirs = [{"type": "web_search_20250305", "name": "web_search"}]
    with make().open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body(tools=own)).status_code == 200
        assert http.post(messages.path, json=messages.body() | {"messages": turn}).status_code == 200
    with make(server_tools=True).open(**STEP) as access, client(access) as http:
        assert http.post(messages.path, json=messages.body(tools=theirs)).status_code == 200


def test_what_is_under_way_ends_with_its_step(gateway: Gateway, provider: ScriptedProvider, messages: Any) -> None:
    provider.script = lambda _: say("long", stall=30)
    with gateway.open(**STEP) as access:
        transport = httpx2.HTTPTransport(uds=str(access.socket), verify=False)
        http = httpx2.Client(transport=transport, headers={"x-api-key": access.token})
        request = http.build_request("POST", f"http://x{messages.path}", json=messages.body(stream=True))
        chunks = http.send(request, stream=True).iter_raw()
        next(chunks)
    with pytest.raises(httpx2.RemoteProtocolError):
        list(chunks)
    http.close()
    assert gateway.usage(access).cost_usd is None


def test_a_client_that_leaves_before_its_answer_leaves_an_unknown_cost(
    gateway: Gateway, provider: ScriptedProvider, leave: Any, messages: Any
) -> None:
    provider.script = lambda _: say("late", delay=30)
    with gateway.open(**STEP) as access:
        leave(access, messages, provider)
    assert gateway.usage(access) == Usage(input_tokens=None, output_tokens=None, cost_usd=None, requests=1, models=())


def test_embeddings_are_forwarded_and_priced_by_what_was_read(make: Any, client: Any, messages: Any) -> None:
    cost = 7 * 1.0 / 1e6
    gateway = make("run", budget=1.0)
    make.provider.script = lambda _: say("", usage={"input": 7})
    ask = {"model": "scripted", "input": ["one text", "another"]}
    with gateway.open(**STEP) as access, client(access) as http:
        found = http.post("/openai/v1/embeddings", json=ask).json()
        assert [each["index"] for each in found["data"]] == [0, 1]
        assert http.post("/anthropic/v1/embeddings", json=ask).status_code == 404
        assert gateway.usage(access) == Usage(
            input_tokens=7, output_tokens=0, cost_usd=round(cost, 9), requests=1, models=("scripted",)
        )
    replayed = make("again", replay=True)
    with replayed.open(**STEP) as access, client(access) as http:
        assert http.post("/openai/v1/embeddings", json=ask).json() == found
    assert len(make.provider.asked) == 1
