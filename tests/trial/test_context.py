"""What trials at the same time do beside each other."""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.protocols import Image
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.trial.context import TrialContext
from pytest_crab.waiting import waiting

pytestmark = pytest.mark.bubblewrap


class Meeting(BubblewrapRuntime):
    """The local runtime, in which no instance is prepared before another is being prepared as well."""

    meeting: threading.Barrier

    def prepare(self, *arguments: Any) -> Image:
        self.meeting.wait(60)
        return super().prepare(*arguments)


def test_two_instances_are_prepared_at_a_time(lab: Any, tmp_path: Path) -> None:
    runtime = Meeting(RuntimeSettings(), cache=tmp_path / "cache", slots=8)
    runtime.meeting = threading.Barrier(2)
    instance = lab.instance()
    other = dataclasses.replace(
        instance, id="values-2", environment=dataclasses.replace(instance.environment, env={"A": "b"})
    )
    run_context = lab.run_context(runtime=runtime)
    stages = [TrialContext(one, lab.crew(), run_context, lambda _: None) for one in (instance, other)]
    with ThreadPoolExecutor(2) as pool:
        images = list(pool.map(lambda stage: stage.image, stages))
    assert len({image.key for image in images}) == 2
    runtime.close()


def test_a_wait_for_a_slot_is_said_and_is_no_part_of_a_step(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now, steps = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stage = TrialContext(lab.instance(), lab.crew(), lab.run_context(), steps.append)
    with stage.time_part("proof"), stage.time_part("image"):
        now[0] += 3
        with waiting():
            now[0] += 50
    assert [(record.step, record.seconds) for record in stage.records] == [("image", 3), ("proof", 3)]
    assert steps == ["proof", "image", "image: waits for a slot", "image", "proof"]
