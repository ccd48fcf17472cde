"""bench/scale.py: its own checks hold, records of a run become costs, and one trial alone takes what it took."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("scale")


def test_known_limits_hold(script: Any) -> None:
    script.check()


def test_a_wrong_model_is_noticed(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scale_model.Queue.take", lambda self, now, amount: now)
    with pytest.raises(AssertionError, match="scarce"):
        script.check()


def test_records_become_costs_and_one_lane_takes_their_sum(script: Any, tmp_path: Path) -> None:
    def step(name: str, seconds: float, *, reused: bool = False) -> dict[str, Any]:
        return {"step": name, "seconds": seconds, "reused": reused, "retried": []}

    usage = {"requests": 3, "input_tokens": 100, "output_tokens": None, "cost_usd": 0.5}
    whole = [step("fetch", 1), step("image", 5), step("proof", 16), step("review", 20), step("verdict", 2)]
    again = [step("proof", 0.1, reused=True), step("review", 9)]
    records = [
        {"steps": whole, "review": {"usage": usage}, "revision": None},
        {"steps": again, "review": None, "revision": None},
    ]
    path = tmp_path / "trials.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    (sample,) = script.from_records(path)
    assert (sample.image, sample.proof, sample.review, sample.examine) == (6, 10, 20, 2)
    assert (sample.requests, sample.tokens, sample.usd) == (3, 100, 0.5)
    free = script.Setting(instances=1, reviewers=1, repeats=1, jobs=1, worker_usd=0.0)
    played = script.Model(free, [sample], 1, trace=True).run()
    assert math.isclose(played.wall, 38, rel_tol=0.01)
    path.write_text(json.dumps(records[1]))
    with pytest.raises(ValueError, match="use a fresh store"):
        script.from_records(path)
