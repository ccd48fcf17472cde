"""The simulation of benchmarks/coverage.py in small: its benchmarks have the paper's shape, and intervals cover."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_simulated_benchmark_has_the_papers_counts(script: Any) -> None:
    oracles = dict(script.layout(random.Random(1)))
    assert (len(oracles), len({name for name, _ in oracles}), len(set(oracles.values()))) == (234, 184, 67)


def test_intervals_cover_where_plain_ones_do_not(script: Any) -> None:
    truth = script.Truth(script.RATE, 0.1)
    held = dict.fromkeys(("micro", "macro", "Wilson"), 0)
    for seed in range(150):
        source = random.Random(f"small {seed}")
        for name, holds in script.covers(script.measured(source, script.verdicts(source, truth)), script.RATE).items():
            held[name] += holds
    assert min(held["micro"], held["macro"]) >= 136
    assert held["Wilson"] < held["micro"]


def test_what_is_announced_is_seen(script: Any) -> None:
    runs = [script.compared(seed, script.Truth(script.RATE, 0.0), 0.18) for seed in range(60)]
    seen = sum(run.high is not None and run.high < 0 for run in runs) / len(runs)
    assert seen == pytest.approx(script.announced(0.18, 0.0), abs=0.12)
