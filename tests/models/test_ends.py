"""The end of an access and of a run: nothing that is under way outlives them, and nothing is booked behind them."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from pytest_crab.errors import Cancelled, ReviewerError
from pytest_crab.models import Gateway
from pytest_crab.testing import dialogue
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say

STEP = {"trial": "i::r", "step": "review", "attempt": 1}


def test_a_request_whose_last_byte_comes_after_the_step_is_not_let_in(
    gateway: Gateway, provider: ScriptedProvider, client: Any, messages: Any
) -> None:
    body = json.dumps(messages.body()).encode()
    with socket.socket(socket.AF_UNIX) as slow:
        slow.settimeout(300)
        with gateway.open(**STEP) as access:
            slow.connect(str(access.socket))
            head = f"POST {messages.path} HTTP/1.1\r\nhost: x\r\nx-api-key: {access.token}\r\n"
            slow.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body[:-1])
            with client(access) as http:  # the one before has arrived too, then
                assert http.post(messages.path, json=messages.body()).status_code == 200
        try:
            slow.sendall(body[-1:])
            answer = slow.recv(4096)
        except ConnectionError:
            answer = b""
    assert b" 200 " not in answer
    assert len(provider.asked) == 1
    assert gateway.usage(access).requests == 1


def test_connections_do_not_outlive_their_step(gateway: Gateway, provider: ScriptedProvider, messages: Any) -> None:
    with socket.socket(socket.AF_UNIX) as idle:
        idle.settimeout(300)
        with gateway.open(**STEP) as access:
            idle.connect(str(access.socket))
            idle.sendall(f"HEAD /anthropic HTTP/1.1\r\nhost: x\r\nx-api-key: {access.token}\r\n\r\n".encode())
            assert idle.recv(4096).startswith(b"HTTP/1.1 200")
        try:
            rest = idle.recv(4096)
        except ConnectionError:
            rest = b""
    assert rest == b""


@pytest.mark.parametrize("mapped", ["by the adapter", ""])
def test_stop_breaks_off_what_is_under_way(make: Any, client: Any, messages: Any, mapped: str) -> None:
    gateway = make()
    asked = threading.Event()

    def script(_: Asked) -> Reply:
        asked.set()
        return say("late", delay=3600)

    make.provider.script = script
    raised: list[BaseException] = []

    def step() -> None:
        try:
            with gateway.open(**STEP) as access, client(access) as http:
                try:
                    http.post(messages.path, json=messages.body(), timeout=1800)
                except Exception as error:
                    if mapped:
                        raise ReviewerError("the connection broke") from error
                    raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at below
            raised.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    assert asked.wait(300)
    gateway.stop()
    thread.join(300)
    assert not thread.is_alive()
    (error,) = raised
    assert isinstance(error, Cancelled)
    assert "the run was stopped while review asked a model" in str(error)
    with pytest.raises(Cancelled), gateway.open(**STEP):
        pytest.fail("nothing is asked any more")


def test_stop_does_not_take_a_result_that_is_there(make: Any, client: Any, messages: Any) -> None:
    gateway = make()
    with gateway.open(**STEP) as access:
        with client(access) as http:
            assert http.post(messages.path, json=messages.body()).status_code == 200
        gateway.stop()
    assert gateway.usage(access).requests == 1


def test_what_a_client_has_had_to_its_end_is_used_at_once(make: Any, client: Any, protocol: Any) -> None:
    """An adapter asks for the usage as soon as its client has ended, whatever the provider still does."""
    make.provider.script = lambda _: say("told to its end", linger=60)
    gateway = make()
    body, seen = protocol.body(stream=True, stream_options={"include_usage": True}), b""
    with (
        gateway.open(**STEP) as access,
        client(access) as http,
        http.stream("POST", protocol.path, json=body) as answer,
    ):
        chunks = answer.iter_raw()  # held, since without it the connection would be closed
        while not any(end in seen for end in (b"message_stop", b"response.completed", b"[DONE]")):
            seen += next(chunks)
        told = gateway.usage(access)
    assert (told.requests, told.input_tokens, told.output_tokens) == (1, 100, 20)
    assert gateway.usage(access) == told


def test_what_a_client_has_left_is_counted_though_that_is_heard_of_later(
    gateway: Gateway, provider: ScriptedProvider, messages: Any
) -> None:
    asked = threading.Event()

    def script(_: Asked) -> Reply:
        asked.set()
        return say("late", delay=3600)

    provider.script = script
    body = json.dumps(messages.body()).encode()
    with gateway.open(**STEP) as access, socket.socket(socket.AF_UNIX) as leaving:
        leaving.connect(str(access.socket))
        head = f"POST {messages.path} HTTP/1.1\r\nhost: x\r\nx-api-key: {access.token}\r\n"
        leaving.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        assert asked.wait(300)
        relay = threading.Timer(0.5, leaving.shutdown, (socket.SHUT_RDWR,))  # that passes the end on late
        relay.start()
        told = gateway.usage(access)
        relay.join()
    assert (told.requests, told.cost_usd) == (1, None)


def test_a_stream_that_is_cut_behind_its_last_event_is_whole(make: Any, client: Any, protocol: Any) -> None:
    body = protocol.body(stream=True, stream_options={"include_usage": True})
    reply = say("told to its end")
    count = len(list(dialogue.events(protocol.name, body, reply)))
    make.provider.script = lambda _: say("told to its end", cut=count)
    gateway = make()
    with gateway.open(**STEP) as access, client(access) as http:
        answer = http.post(protocol.path, json=body)
    assert answer.content.count(b"data: ") == count
    assert gateway.usage(access).cost_usd is not None
