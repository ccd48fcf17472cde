"""SWE-bench: its rows as candidates."""

from __future__ import annotations

from pytest_crab.registry import Benchmark

BENCHMARK = Benchmark(
    title="SWE-bench",
    candidates="pytest_crab.benchmarks.swebench.reader:candidates",
)
