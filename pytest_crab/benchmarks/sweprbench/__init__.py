"""SWE-PRBench: its release, its rule, its judge and its recorded reports."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="SWE-PRBench",
    recorded="pytest_crab.benchmarks.sweprbench.text:recorded",
    commands={
        "import": Subcommand("pytest_crab.benchmarks.sweprbench.reader:sweprbench", "Make a set of the release."),
        "score": Subcommand(
            "pytest_crab.benchmarks.sweprbench.command:score", "Score stored reviews by the benchmark's rule."
        ),
        "quality": Subcommand(
            "pytest_crab.benchmarks.sweprbench.quality:quality", "Print the quality score of a repository."
        ),
    },
    judges={"swe-prbench": "pytest_crab.benchmarks.sweprbench.judge:SwePrbenchJudge"},
)
