"""c-CRAB: its release, its funnel, and its recorded results."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="c-CRAB",
    importer="pytest_crab.benchmarks.ccrab.importing:ccrab",
    recorded="pytest_crab.benchmarks.ccrab.results:recorded",
    commands={
        "statistics": Subcommand("pytest_crab.benchmarks.ccrab.statistics:statistics", "Print the release's sizes."),
    },
)
