"""A worker's messages over a real scheduler: which go together, and which answer belongs to which call."""

from __future__ import annotations

import json
import threading
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


def test_notes_outlive_a_message_that_fails(worker: DaskController, listener: Listener) -> None:
    worker.note({"notice": "one"})
    with pytest.raises(TypeError):
        worker.send({"notice": object()})
    worker.note({"notice": "two"})
    worker.send({"notice": "three"})
    heard = listener.hear()
    while len(heard) < 3:
        heard += listener.hear()
    assert told(heard) == ["one", "two", "three"]


def test_a_trial_is_heard_in_its_order_while_another_sends(worker: DaskController, listener: Listener) -> None:
    """Messages of the other one are large and take notes along, which come late unless the rest waits for them."""
    numbers = range(40)

    def small() -> None:
        for number in numbers:
            worker.note({"notice": 2 * number})
            worker.send({"notice": 2 * number + 1})

    def large() -> None:
        while not done.is_set():
            worker.send({"notice": None, "text": "x" * 2_000_000})

    done = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        other = threads.submit(large)
        threads.submit(small).result()
        done.set()
        other.result()
    heard: list[Any] = []
    while len(heard) < 2 * len(numbers):
        heard += [notice for notice in told(listener.hear()) if notice is not None]
    assert heard == sorted(heard)
    while listener.messages.qsize():
        listener.hear()


def test_an_answer_belongs_to_its_call_however_late_or_often_it_comes(
    worker: DaskController, listener: Listener, monkeypatch: pytest.MonkeyPatch
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
        with monkeypatch.context() as patch:
            patch.setattr("pytest_crab.campaign.cluster.worker._ANSWER", 3.0)
            assert worker.call({"step": 3}) == {}
        (unanswered,) = listener.hear()
        assert unanswered["call"].rpartition(":")[0] == second.rpartition(":")[0]
        assert calls(4, (None, 4)).rpartition(":")[0] != second.rpartition(":")[0]
