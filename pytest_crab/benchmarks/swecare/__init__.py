"""SWE-CARE: its release."""

from __future__ import annotations

from pytest_crab.registry import Benchmark

BENCHMARK = Benchmark(
    title="SWE-CARE",
    importer="pytest_crab.benchmarks.swecare.reader:swecare",
)
