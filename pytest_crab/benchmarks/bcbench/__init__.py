"""BC-Bench: its recorded code review runs."""

from __future__ import annotations

from pytest_crab.registry import Benchmark

BENCHMARK = Benchmark(
    title="BC-Bench",
    recorded="pytest_crab.benchmarks.bcbench.recorded:recorded",
)
