"""CR-Bench: its recorded judgements and its judge."""

from __future__ import annotations

from pytest_crab.registry import Benchmark

BENCHMARK = Benchmark(
    title="CR-Bench",
    recorded="pytest_crab.benchmarks.crbench.judged_bugs:recorded",
    judges={"cr-evaluator": "pytest_crab.benchmarks.crbench.judge:CrEvaluator"},
)
