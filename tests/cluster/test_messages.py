"""A worker's messages over a real scheduler: which go together, and which answer belongs to which call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, LocalCluster, Queue

from pytest_crab.campaign.cluster.worker import DaskController

TOPIC = "pytest-crab-messages"
SECONDS = 20


class Listener:
    """The controller's side, which answers as a test says."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.messages = Queue(TOPIC, client=client)

    def hear(self) -> list[dict[str, Any]]:
        """The messages that came together."""
        heard: list[dict[str, Any]] = json.loads(self.messages.get(timeout=SECONDS))
        return heard

    def answer(self, call: str, answer: Mapping[str, Any]) -> None:
        Queue(call.rpartition(":")[0], client=self.client).put({"call": call, "answer": answer})


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1") as cluster,
        Client(cluster.scheduler_address, set_as_default=False) as client,
    ):
        yield Listener(client)


@pytest.fixture
def worker(listener: Listener) -> Iterator[DaskController]:
    address = listener.client.scheduler.address
    of_dask = SimpleNamespace(scheduler=SimpleNamespace(address=address), security=listener.client.security, name="w1")
    controller = DaskController(of_dask, TOPIC)
    yield controller
    controller.close()


def told(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["notice"] for message in messages]


def test_a_note_goes_with_the_next_message_or_alone(worker: DaskController, listener: Listener) -> None:
    worker.note({"notice": "one"})
    worker.note({"notice": "two"})
    assert worker.send({"notice": "three"})
    assert told(listener.hear()) == ["one", "two", "three"]
    worker.note({"notice": "four"})
    assert told(listener.hear()) == ["four"]


def test_an_answer_belongs_to_its_call_however_late_or_often_it_comes(
    worker: DaskController, listener: Listener
) -> None:
    with ThreadPoolExecutor(1) as thread:

        def calls(number: int, *answers: tuple[str | None, int]) -> str:
            """Make a call, answer earlier ones or this one (None), and return its name."""
            called = thread.submit(worker.call, {"step": number})
            (message,) = listener.hear()
            for call, answer in answers:
                listener.answer(call or message["call"], {"number": answer})
            assert called.result(SECONDS) == {"number": number}
            return str(message["call"])

        first = calls(1, (None, 1), (None, 1))
        second = calls(2, (first, 1), (None, 2))
        assert first.rpartition(":")[0] == second.rpartition(":")[0]
