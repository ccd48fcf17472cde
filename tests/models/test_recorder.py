"""Recordings are written beside the answers: none that counts is missing, and they keep their order."""

# ruff: noqa: SIM117 - the outer block says what is expected of the inner one

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.errors import GatewayError
from pytest_crab.locks import locked_folder
from pytest_crab.testing.provider import in_order, say

STEP = {"trial": "i::r", "step": "review", "attempt": 1}


def recordings(make: Any) -> int:
    return len(list(make.cassettes.glob("??/*.json")))


def replayed(make: Any, client: Any, protocol: Any, texts: list[str]) -> list[bytes]:
    with make(replay=True).open(**STEP) as access, client(access) as http:
        return [http.post(protocol.path, json=protocol.body(text)).content for text in texts]


def test_killed_between_answer_and_recording_the_step_breaks_and_is_asked_again(
    make: Any, client: Any, messages: Any
) -> None:
    gateway = make()
    with pytest.raises(GatewayError, match="died or does not answer"):  # noqa: PT012
        with gateway.open(**STEP) as access, client(access) as http, locked_folder(make.cassettes):
            assert http.post(messages.path, json=messages.body()).status_code == 200
            assert recordings(make) == 0  # another process holds the folder
            os.kill(gateway.process_id, signal.SIGKILL)
    assert recordings(make) == 0
    with gateway.open(**STEP) as access, client(access) as http:
        http.post(messages.path, json=messages.body())
    assert (recordings(make), len(make.provider.asked)) == (1, 2)
    assert replayed(make, client, messages, ["hello"])


def test_a_step_ends_once_what_it_asked_is_recorded_in_its_order(make: Any, client: Any, messages: Any) -> None:
    make.provider.script = in_order(*(say(f"answer {number}") for number in range(9)))
    texts = ["one", "two", "one", "one", "two", "three"]
    held, ended = locked_folder_of(make), threading.Event()
    gateway = make()
    with gateway.open(**STEP) as access, client(access) as http:
        release = held()
        said = [http.post(messages.path, json=messages.body(text)).content for text in texts]
        assert recordings(make) == 0
        waiter = threading.Thread(target=lambda: (ended.wait(0.3), release()))
        waiter.start()
    assert recordings(make) == 3
    waiter.join()
    make.provider.asked.clear()
    assert (replayed(make, client, messages, texts), make.provider.asked) == (said, [])


def locked_folder_of(make: Any) -> Callable[[], Callable[[], None]]:
    """Holds the lock of the recordings from one call until the next."""

    def hold() -> Callable[[], None]:
        lock = locked_folder(make.cassettes)
        lock.__enter__()
        return lambda: lock.__exit__(None, None, None)

    return hold
