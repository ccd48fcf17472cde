"""Finished steps between stores: what one side has the other need not make, and nothing is sent twice."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.campaign.cluster import remote_store
from pytest_crab.campaign.cluster.remote_store import RemoteStore, StepServer
from pytest_crab.store import FileStore

SECRET = "sk-planted-0123456789"
KEY, OTHER, THIRD = "a" * 64, "b" * 64, "c" * 64
REVIEW = {"findings": [{"body": "3."}], "transcript": OTHER}


class Wire:
    """A controller's store and those of workers, with everything that went over."""

    def __init__(self, folder: Path) -> None:
        self.store = FileStore(folder / "controller")
        self.sent: list[Mapping[str, Any]] = []
        self.answered: list[Mapping[str, Any]] = []
        self.warnings: list[str] = []
        self.silent = False
        self._server = StepServer(self.store, (), ["PLANTED"])
        self._folder = folder

    def send(self, message: Mapping[str, Any]) -> bool:
        self.call(message)
        return not self.silent

    def call(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self.sent.append(message)
        if self.silent:
            return {}
        self.answered.append(self._server.answer(message))
        return self.answered[-1]

    def worker(self, name: str, *, fresh: tuple[str, ...] = ()) -> RemoteStore:
        self._server = StepServer(self.store, fresh, ["PLANTED"])
        return RemoteStore(self._folder / name, self, self.warnings.append, secrets=["PLANTED"])

    def own(self, name: str) -> FileStore:
        return FileStore(self._folder / name)


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.setenv("PLANTED", SECRET)
    return Wire(tmp_path)


def test_what_one_worker_made_another_one_need_not(wire: Wire) -> None:
    wire.worker("w1").put("review", KEY, REVIEW)
    assert wire.store.get("review", KEY) == REVIEW
    second = wire.worker("w2")
    assert second.get("review", KEY) == wire.own("w2").get("review", KEY) == REVIEW
    assert not [message for message in wire.sent[1:] if "value" in message]


def test_what_is_given_is_not_asked_for_again(wire: Wire) -> None:
    wire.store.put("review", KEY, REVIEW)
    worker = wire.worker("w1")
    assert [worker.get("review", KEY) for _ in range(2)] == [REVIEW, REVIEW]
    assert len(wire.sent) == 1
    wire.own("w1").forget("review", KEY)
    assert worker.get("review", KEY) == REVIEW


def test_what_was_made_while_the_lock_was_waited_for_is_not_made_again(wire: Wire) -> None:
    worker = wire.worker("w1")
    assert worker.get_all("review", [KEY, OTHER]) == {KEY: None, OTHER: None}
    wire.worker("w2").put("review", KEY, REVIEW)
    wire.own("w1").put("review", OTHER, REVIEW)  # as a run of another controller does
    with worker.lock("review", KEY), worker.lock("review", OTHER):
        assert worker.get_all("review", [KEY, OTHER]) == {KEY: REVIEW, OTHER: REVIEW}
    assert wire.store.get("review", OTHER) == REVIEW


def test_what_a_worker_has_from_earlier_comes_to_the_controller_with_its_transcript(wire: Wire) -> None:
    wire.own("w1").put("transcript", OTHER, {"text": "said"})
    wire.own("w1").put("review", KEY, REVIEW)
    assert wire.worker("w1").get("review", KEY) == REVIEW
    assert wire.store.get("review", KEY) == REVIEW
    assert wire.store.get("transcript", OTHER) == {"text": "said"}


def test_what_was_made_anew_stands_on_the_controller_and_then_everywhere(wire: Wire) -> None:
    for name in ("w1", "w2"):
        wire.worker(name).put("review", KEY, {"findings": [name]})
    assert wire.store.get("review", KEY) == {"findings": ["w1"]}  # the first of two that made the same
    wire.worker("w2", fresh=("review",)).put("review", KEY, {"findings": ["anew"]})
    for name in ("w1", "w2"):
        assert wire.worker(name).get("review", KEY) == {"findings": ["anew"]}


def test_without_an_answer_it_is_the_workers_own_store(wire: Wire) -> None:
    wire.store.put("review", KEY, REVIEW)
    worker = wire.worker("w1")
    wire.silent = True
    worker.put("review", OTHER, REVIEW)
    assert worker.get("review", OTHER) == REVIEW
    assert worker.get("review", KEY) is None


def test_nothing_with_a_key_in_it_goes_over_and_nothing_too_large(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {"findings": [f"use {SECRET}"]}
    worker = wire.worker("w1")
    worker.put("review", KEY, planted)
    wire.store.put("review", OTHER, planted)
    assert worker.get("review", OTHER) is None
    assert wire.worker("w2").get_all("review", [OTHER, THIRD]) == {OTHER: None, THIRD: None}
    assert wire.answered[-1] == {"values": {}, "lacks": [THIRD]}
    assert SECRET not in json.dumps([*wire.sent, *wire.answered])
    assert wire.store.get("review", KEY) is None
    monkeypatch.setattr(remote_store, "MOST_BYTES", 100)
    wire.store.put("review", THIRD, {"findings": ["x" * 100]})
    assert wire.worker("w2").get("review", THIRD) is None
    worker.put("revision", KEY, {"diff": "x" * 100})
    assert wire.store.get("revision", KEY) is None
    assert worker.get("revision", KEY) == {"diff": "x" * 100}
    planted_one, large_one = wire.warnings[:2]
    assert planted_one == f"the review {KEY} holds the value of PLANTED and is kept here only"
    assert large_one.startswith(f"the revision {KEY} has ")


def told(**changed: Any) -> dict[str, Any]:
    return {"uid": "u", "step": "review", "key": KEY, "value": "{}", **changed}


@pytest.mark.parametrize(
    "message",
    [
        {},
        told(key="../../x"),
        told(key=f"../{'a' * 61}"),
        told(key=f"{KEY}\n"),
        told(step="../review"),
        told(value="[]"),
        told(value="[" * 100_000),
        told(value=7),
        told(value="["),
        {"uid": "u", "call": "1", "step": "review", "key": KEY},
        {"uid": "u", "call": "1", "step": "locks/..", "keys": [KEY]},
        {"uid": "u", "call": "1", "step": "review", "keys": 7},
    ],
)
def test_what_is_no_step_is_not_kept(message: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    server = StepServer(FileStore(tmp_path / "store"), (), ())
    assert [server.answer(each) for each in (message, told())] == [{}, {}]
    assert "a worker sent what is no finished step" in caplog.text
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.json")]
    assert files == [Path("store", "steps", "review", "aa", f"{KEY}.json")]
