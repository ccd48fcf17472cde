"""The pytest-crab command: its subcommands, each imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping

import click

from pytest_crab.cli.lazy_group import LazyGroup
from pytest_crab.registry import Subcommand

#: The subcommands below the headings of the help, each with its target.
GROUPS: Mapping[str, Mapping[str, Subcommand]] = {
    "Start": {
        "quickstart": Subcommand("pytest_crab.cli.quickstart:quickstart", "Copy the quickstart set to a new folder."),
        "init": Subcommand("pytest_crab.cli.init:init", "Write crab.yaml and a CI workflow."),
        "plan": Subcommand("pytest_crab.cli.plan:plan", "Say how many pull requests a margin takes."),
        "doctor": Subcommand("pytest_crab.cli.doctor:doctor", "Report what a run can use on this machine."),
    },
    "Results of runs": {
        "report": Subcommand("pytest_crab.cli.report:report", "Print the report of a run, or recorded results."),
        "view": Subcommand("pytest_crab.cli.view:view", "Show reports in a browser, also of a run under way."),
        "show": Subcommand("pytest_crab.cli.show:show", "Show one trial: findings on the diff, oracles, revision."),
        "compare": Subcommand("pytest_crab.cli.compare:compare", "Compare two earlier runs, oracle by oracle."),
        "compare-sets": Subcommand("pytest_crab.cli.compare_sets:compare_sets", "Rank reviewers by two sets."),
        "compare-rulers": Subcommand(
            "pytest_crab.cli.compare_rulers:compare_rulers", "Measure stored reviews by several rulers."
        ),
        "merge": Subcommand("pytest_crab.cli.merge:merge", "Make one report of the reports of several shards."),
        "comment": Subcommand(
            "pytest_crab.cli.comment:comment", "Write a run's results as one comment on a pull request."
        ),
        "export": Subcommand("pytest_crab.cli.export:export", "Write a run as a table, leaderboard or badge."),
        "prune": Subcommand("pytest_crab.cli.prune:prune", "Remove what killed runs left, and stored data."),
    },
    "Sets of instances": {
        "set": Subcommand("pytest_crab.cli.sets:sets", "Make instances, prove them, measure their oracles."),
        "benchmark": Subcommand(
            "pytest_crab.cli.benchmark:benchmark", "Import a published benchmark, and use its rules."
        ),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


@click.group(cls=LazyGroup, sections=lambda: GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-crab")
def main() -> None:
    """Measure whether the findings of AI code reviewers lead to the changes that human reviewers asked for."""
