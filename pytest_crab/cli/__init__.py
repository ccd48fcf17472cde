"""The pytest-crab command: its table of subcommands, each imported when it is called."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click


class Subcommand(NamedTuple):
    """The target of a subcommand ("module:function"), and its line in the help."""

    target: str
    summary: str


COMMANDS = {
    "distractors": Subcommand("pytest_crab.cli.distractors:distractors", "Make questions for your own reviewed code."),
    "audit-table": Subcommand(
        "pytest_crab.cli.audit_table:audit_table", "Check that the numbers of a published table fit."
    ),
    "augment": Subcommand("pytest_crab.cli.augment:augment", "Add findings of reviews to a set, without duplicates."),
    "certify": Subcommand(
        "pytest_crab.cli.certify:certify", "Prove oracles, finding environments where none is given."
    ),
    "check": Subcommand("pytest_crab.cli.check:check", "Validate instances, and audit their oracles."),
    "comment": Subcommand("pytest_crab.cli.comment:comment", "Write a run's results as one comment on a pull request."),
    "compare": Subcommand("pytest_crab.cli.compare:compare", "Compare two earlier runs, oracle by oracle."),
    "compare-rulers": Subcommand(
        "pytest_crab.cli.compare_rulers:compare_rulers", "Measure stored reviews by several rulers."
    ),
    "curate": Subcommand("pytest_crab.cli.curate:curate", "Make a set of instances of merged pull requests."),
    "doctor": Subcommand("pytest_crab.cli.doctor:doctor", "Report what a run can use on this machine."),
    "error-rates": Subcommand(
        "pytest_crab.cli.error_rates:error_rates", "Measure how often oracles accept near misses and refuse fixes."
    ),
    "match": Subcommand("pytest_crab.cli.match:match", "Match stored reviews with comments by place and concern."),
    "merge": Subcommand("pytest_crab.cli.merge:merge", "Make one report of those of several shards."),
    "new": Subcommand("pytest_crab.cli.new:new", "Write the skeleton of an instance."),
    "prune": Subcommand("pytest_crab.cli.prune:prune", "Remove what dead runs left, and on request what is stored."),
    "export": Subcommand("pytest_crab.cli.export:export", "Write a run as a table, leaderboard, badge or submission."),
    "init": Subcommand("pytest_crab.cli.init:init", "Write crab.yaml and a workflow of CI."),
    "import": Subcommand("pytest_crab.cli.import_:import_", "Make a native set of another benchmark's release."),
    "quickstart": Subcommand("pytest_crab.cli.quickstart:quickstart", "Copy the quickstart set to a new folder."),
    "shell": Subcommand("pytest_crab.cli.shell:shell", "Open a shell in the workspace of an instance."),
    "show": Subcommand("pytest_crab.cli.show:show", "Show one trial: findings on the diff, oracles, revision."),
    "sweprbench": Subcommand("pytest_crab.cli.sweprbench:sweprbench", "Score stored reviews by SWE-PRBench's rule."),
    "report": Subcommand("pytest_crab.cli.report:report", "Print the report of a run, or recorded results."),
    "view": Subcommand("pytest_crab.cli.view:view", "Show reports in a browser, also of a run under way."),
}


class Commands(click.Group):
    """A group that knows its commands by the table alone, so that asking for help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Name every subcommand."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import the subcommand that was called."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the table into the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in sorted(COMMANDS.items())])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-crab")
def main() -> None:
    """Measure AI code reviewers by what their reviews lead to."""
