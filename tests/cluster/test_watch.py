"""When a worker stops a run by itself: for trials that nobody wants, and not for those that have just ended."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab.campaign.cluster import worker

RUNS, CANCELLED = SimpleNamespace(state="executing"), SimpleNamespace(state="cancelled")


class Bench:
    """A run's place with one trial, which is watched for four looks."""

    plan = SimpleNamespace(run="r")

    def __init__(self) -> None:
        self.keys = {"k"}
        self.ended = False
        self._looks = 0

    @property
    def stopped(self) -> bool:
        self._looks += 1
        return self.ended or self._looks > 4

    def stop(self) -> None:
        self.ended = True

    def close(self) -> None:
        """Nothing is to be given back."""


class Tasks:
    """The tasks that a Dask worker knows; ``look`` says what it finds of the one trial."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self._look = look

    def get(self, _key: str) -> Any:
        return self._look()


def is_stopped(monkeypatch: pytest.MonkeyPatch, bench: Bench, look: Callable[[], Any]) -> bool:
    monkeypatch.setattr(worker, "_LOOK", 0.01)
    process: Any = SimpleNamespace(state=SimpleNamespace(tasks=Tasks(look)))
    place: Any = bench
    worker._watch(place, process)
    return bench.ended


@pytest.mark.parametrize("unwanted", [None, CANCELLED])
def test_a_trial_that_nobody_wants_any_more_stops_its_run(monkeypatch: pytest.MonkeyPatch, unwanted: Any) -> None:
    found = iter([RUNS, unwanted, unwanted])
    assert is_stopped(monkeypatch, Bench(), lambda: next(found))


def test_a_trial_that_ends_during_the_look_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    assert not is_stopped(monkeypatch, bench, bench.keys.clear)


def test_one_look_alone_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([RUNS, None, RUNS, None])
    assert not is_stopped(monkeypatch, Bench(), lambda: next(found))
