"""The pytest-crab command: its table of subcommands, each imported when it is called."""

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
        "merge": Subcommand("pytest_crab.cli.merge:merge", "Make one report of the reports of several shards."),
        "comment": Subcommand(
            "pytest_crab.cli.comment:comment", "Write a run's results as one comment on a pull request."
        ),
        "export": Subcommand("pytest_crab.cli.export:export", "Write a run as a table, leaderboard or badge."),
        "prune": Subcommand("pytest_crab.cli.prune:prune", "Remove what killed runs left, and stored data."),
    },
    "Instances": {
        "new": Subcommand("pytest_crab.cli.new:new", "Write the skeleton of an instance."),
        "shell": Subcommand("pytest_crab.cli.shell:shell", "Open a shell in the workspace of an instance."),
        "check": Subcommand("pytest_crab.cli.check:check", "Validate instances, and audit their oracles."),
        "certify": Subcommand("pytest_crab.cli.certify:certify", "Prove oracles, and find missing environments."),
        "error-rates": Subcommand("pytest_crab.cli.error_rates:error_rates", "Measure how often oracles are wrong."),
        "curate": Subcommand("pytest_crab.cli.curate:curate", "Make a set of instances of merged pull requests."),
    },
    "Published benchmarks and judges": {
        "import": Subcommand("pytest_crab.cli.import_:import_", "Make a set of another benchmark's release."),
        "benchmark": Subcommand(
            "pytest_crab.cli.benchmark:benchmark", "Call a command of one benchmark, such as its rule."
        ),
        "augment": Subcommand(
            "pytest_crab.cli.augment:augment", "Add findings of reviews to a set, without duplicates."
        ),
        "compare-rulers": Subcommand(
            "pytest_crab.cli.compare_rulers:compare_rulers", "Measure stored reviews by several rulers."
        ),
        "audit-table": Subcommand("pytest_crab.cli.audit_table:audit_table", "Check the numbers of a published table."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


@click.group(cls=LazyGroup, sections=lambda: GROUPS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-crab")
def main() -> None:
    """Measure whether the findings of AI code reviewers lead to the changes that human reviewers asked for."""
