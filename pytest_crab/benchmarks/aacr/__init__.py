"""AACR-Bench: its release, its submissions, and matching by its rule."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="AACR-Bench",
    recorded="pytest_crab.benchmarks.aacr.match_text:recorded",
    candidates="pytest_crab.benchmarks.aacr.reader:candidates",
    commands={
        "import": Subcommand("pytest_crab.benchmarks.aacr.reader:aacr", "Make a set of the release."),
        "match": Subcommand(
            "pytest_crab.benchmarks.aacr.command:match", "Match findings of stored reviews with known comments."
        ),
        "pulls": Subcommand("pytest_crab.benchmarks.aacr.pulls:pulls", "Count pull requests by domain and size."),
        "export": Subcommand(
            "pytest_crab.benchmarks.aacr.export:export", "Write a run's reviews as a submission to the leaderboard."
        ),
    },
)
