"""c-CRAB: its release, its funnel, and its recorded results."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="c-CRAB",
    recorded="pytest_crab.benchmarks.ccrab.recorded_results:recorded",
    commands={
        "import": Subcommand("pytest_crab.benchmarks.ccrab.importing:ccrab", "Make a set of the release."),
        "statistics": Subcommand("pytest_crab.benchmarks.ccrab.statistics:statistics", "Print the release's sizes."),
    },
)
