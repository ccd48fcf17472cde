"""CodeReviewQA's offers; a module of their own, since every start of pytest imports the package for its items."""

from __future__ import annotations

from pytest_crab.registry import Benchmark, Subcommand

BENCHMARK = Benchmark(
    title="CodeReviewQA",
    fields={"probes": "pytest_crab.benchmarks.codereviewqa.choices.options:Probes"},
    scorers={"refinement": "pytest_crab.benchmarks.codereviewqa.refinement:RefinementScorer"},
    default_scorers=("refinement",),
    sections=("answerers",),
    shown="pytest_crab.benchmarks.codereviewqa.suites:shown",
    page="pytest_crab.benchmarks.codereviewqa.page:section",
    commands={
        "import": Subcommand("pytest_crab.benchmarks.codereviewqa.reader:codereviewqa", "Make a set of the release."),
        "probes": Subcommand(
            "pytest_crab.benchmarks.codereviewqa.stored_runs:probes", "Print the results of answerers."
        ),
        "comprehension": Subcommand(
            "pytest_crab.benchmarks.codereviewqa.stored_runs:comprehension",
            "Print how well models read review comments.",
        ),
        "statistics": Subcommand(
            "pytest_crab.benchmarks.codereviewqa.description:describe_command", "Print how a set's rows spread."
        ),
        "contamination": Subcommand(
            "pytest_crab.benchmarks.codereviewqa.contamination_command:contamination",
            "Measure whether models have seen a set.",
        ),
        "distractors": Subcommand(
            "pytest_crab.benchmarks.codereviewqa.distractors_command:distractors",
            "Make questions on your own reviewed code.",
        ),
    },
)
