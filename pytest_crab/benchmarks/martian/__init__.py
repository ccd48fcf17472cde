"""Martian's code review benchmark: its recorded judgements."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="Martian",
    recorded="pytest_crab.benchmarks.martian.judged:recorded",
    commands={
        "slices": Subcommand("pytest_crab.benchmarks.martian.slices:slices", "Print rates by language, size and more."),
    },
)
