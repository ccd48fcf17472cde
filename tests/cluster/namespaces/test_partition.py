"""Hosts that are cut off neither die nor answer: a run goes on without them, or says soon that it cannot."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked

pytestmark = pytest.mark.bubblewrap

#: How long Dask bears with a silent connection, 30s unless set; it takes no less.
HASTY = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s"}

#: Where pytest runs: give up soon a scheduler that is silent.
SILENT = """\
from pytest_crab.campaign.cluster import connection, workers
connection.ANSWER, workers.SILENT = 2.0, 4.0
"""


class Slow:
    """Says what a reviewer is asked for; each request about one pull request takes so many seconds, the last stays."""

    def __init__(self, about: str, delays: tuple[float, ...], review: Any, title_of: Any) -> None:
        self.asked: list[Asked] = []
        self._about = about
        self._delays = delays
        self._review = review
        self._title_of = title_of

    def __call__(self, asked: Asked) -> Reply:
        reply: Reply = self._review(asked)
        if self._title_of(asked) != self._about:
            return reply
        self.asked.append(asked)
        return replace(reply, delay=self._delays[min(len(self.asked), len(self._delays)) - 1])


@pytest.fixture
def network(network: Any, without: Any) -> Any:
    """Hosts that can be cut off."""
    if network.lack is not None:
        without("root", network.lack)
    return network


@pytest.mark.slow(reason="machines are cut off for as long as it takes to be missed")
def test_a_worker_is_cut_off_and_then_the_scheduler(
    room: Any, network: Any, make_cluster: Any, reviewing: Any, about: Any, waiting: Any
) -> None:
    cluster = make_cluster("w1", slots=1, given={"scheduler": HASTY, "w2": HASTY})
    room.write_settings(
        asker={"use": "single-shot", "model": "scripted-model"},
        thinker={"use": "reflexion", "model": "scripted-model"},
    )
    cluster.until(there=1)
    room.provider.script = slow = Slow("pots-1", (300, 4), reviewing, about)
    run = room.start(
        *("--reviewer=asker", "-k", "pots-1", "--crab-store=one", "--crab-report=one-report"),
        f"--crab-cluster={cluster.address}",
    )
    waiting(lambda: slow.asked, "no model was asked")
    network.cut("w1")
    cluster.work("w2", slots=1)
    waiting(lambda: len(slow.asked) == 2, "the trial was not given to the other one")
    assert cluster.workers["w1"].poll() is None
    network.mend("w1")
    assert run.poll() is None
    waiting(lambda: cluster.workers["w1"].poll() is not None, "nobody told the worker that it was given up")
    output, _ = run.communicate(timeout=240)
    assert run.returncode == 0, output
    assert [(trial["instance"], trial["versions"]["worker"]) for trial in room.trials("one-report")] == [
        ("pots-1", "w2"),
    ]
    ledger = room.ledger("one")
    assert Counter((entry["trial"], entry["worker"]) for entry in ledger) == {
        ("pots-1::asker", "w1"): 1,  # lost, or told once the worker could be reached again
        ("pots-1::asker", "w2"): 1,
    }
    assert len(room.provider.asked) == len(ledger)

    (room.folder / "conftest.py").write_text(SILENT)
    room.provider.asked.clear()
    room.provider.script = slow = Slow("pots-1", (3,), reviewing, about)
    run = room.start(
        *("--reviewer=thinker", "-k", "pots-1", "--crab-store=two", "--crab-report=two-report"),
        f"--crab-cluster={cluster.address}",
    )
    waiting(lambda: slow.asked, "no model was asked")
    network.cut("scheduler")
    output, _ = run.communicate(timeout=240)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, output
    (error,) = {trial["error"] for trial in room.trials("two-report")}
    assert f"the Dask scheduler at {cluster.address} does not answer any more: see that it runs and can be" in error
    runs = cluster.folder / f"pytest-crab-{os.getuid()}" / "runs"
    waiting(lambda: not [path for path in runs.iterdir() if path.is_dir()], "a trial outlived its scheduler")
    assert room.ledger("two")[-1]["lost"]
    asked = len(room.provider.asked)
    assert asked <= 3  # the model could be reached all the time: the step under way went on, and no other began
