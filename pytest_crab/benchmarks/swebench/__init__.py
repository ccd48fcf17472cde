"""SWE-bench: its rows as candidates."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="SWE-bench",
    candidates="pytest_crab.benchmarks.swebench.reader:candidates",
    commands={
        "rows": Subcommand("pytest_crab.benchmarks.swebench.rows_command:rows", "Run the tests that rows name."),
    },
)
