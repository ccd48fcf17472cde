"""Dask spreads the trials of one instance over workers that have nothing else, also one that comes later."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap


def test_a_worker_that_comes_later_takes_trials_that_wait(
    room: Any, make_cluster: Any, reviewing: Any, waiting: Any
) -> None:
    cluster = make_cluster("w1", slots=1)
    room.write_settings(asker={"use": "single-shot", "model": "scripted-model"})
    room.provider.script = lambda asked: dataclasses.replace(reviewing(asked), delay=2.0)
    cluster.until(there=1)
    run = room.start(*("--reviewer=asker", "-k", "pots-1", "--crab-repeat=6"), f"--crab-cluster={cluster.address}")
    waiting(lambda: room.provider.asked, "no model was asked")
    cluster.work("w2", slots=1)
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert {trial["versions"]["worker"] for trial in room.trials(".crab/report")} == {"w1", "w2"}
