"""Dask gives trials that wait at a busy worker to one that has nothing else, also if it comes later; all by TLS."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked

pytestmark = pytest.mark.bubblewrap


@pytest.mark.slow(reason="a scheduler, two workers and a run are processes of their own")
def test_a_worker_that_comes_later_takes_trials_that_wait(
    room: Any, make_cluster: Any, reviewing: Any, waiting: Any
) -> None:
    cluster = make_cluster("w1", slots=1)
    room.write_settings(asker={"use": "single-shot", "model": "scripted-model"})

    def asked_by(name: str) -> list[Asked]:
        return [asked for asked in room.provider.asked if cluster.key(name) in str(asked.headers)]

    def answer(asked: Asked) -> Reply:
        """Never answer the first worker."""
        return dataclasses.replace(reviewing(asked), delay=300.0 if cluster.key("w1") in str(asked.headers) else 0.0)

    room.provider.script = answer
    cluster.until(there=1)
    run = room.start(*("--reviewer=asker", "-k", "pots-1", "--crab-repeat=3"), f"--crab-cluster={cluster.address}")
    waiting(lambda: asked_by("w1"), "no model was asked")
    cluster.work("w2", slots=1)
    waiting(lambda: len(asked_by("w2")) == 2, "the second worker did not take what waited at the first one")
    cluster.kill("w1")
    output, _ = run.communicate(timeout=240)
    assert run.returncode == 0, output
    assert cluster.address.startswith("tls://")
    assert [trial["versions"]["worker"] for trial in room.trials(".crab/report")] == ["w2"] * 3
    assert len(asked_by("w1")) == 1
