"""SWE-CARE: its release."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="SWE-CARE",
    commands={"import": Subcommand("pytest_crab.benchmarks.swecare.reader:swecare", "Make a set of the release.")},
)
