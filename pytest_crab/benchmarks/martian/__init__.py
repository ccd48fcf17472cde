"""Martian's code review benchmark: its recorded judgements."""

from __future__ import annotations

from pytest_crab.registry import Benchmark

BENCHMARK = Benchmark(
    title="Martian",
    recorded="pytest_crab.benchmarks.martian.judged:recorded",
)
