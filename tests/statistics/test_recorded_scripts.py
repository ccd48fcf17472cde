"""The scripts that hold the gate against recorded runs: on made-up records, and on the real ones if there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data" / "bcbench"


def test_repeats_are_read_by_configuration(tmp_path: Path, benchmark_script: Callable[[str], Any]) -> None:
    script = benchmark_script("bcbench_repeats")
    common = {"agent_name": "x", "model": "m", "experiment": None, "benchmark_version": "1"}
    scores = [{"a": 0.0, "b": 0.5, "c": 1.0, "d": 0.0}, {"a": 0.2, "b": 0.0, "c": 1.0, "d": 0.0}]
    runs = [{**common, "instance_results": own} for own in scores]
    (tmp_path / script.FILE).write_text(json.dumps({"runs": runs}))
    (found,) = script.read(tmp_path)
    assert (found.name, found.rate, found.noise_floor) == ("x m 1", 0.5, 0.5)


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data/bcbench is not beside this checkout")
def test_real_repeats_raise_few_false_alarms(benchmark_script: Callable[[str], Any]) -> None:
    script = benchmark_script("bcbench_repeats")
    found = script.read(DATA)
    assert [len(own.runs) for own in found] == [5] * 12
    *_, row = script.unchanged_rows(found)
    pairs, holds, fails, *passes = [cell.strip(" %") for cell in row.split("|")[1:-1]]
    assert int(pairs) == 240
    assert float(holds) >= 95
    assert float(fails) <= 2.5
    assert float(passes[-1]) >= 95
