"""The pytest-crab command: its table of subcommands, each imported when it is called."""

from __future__ import annotations

import importlib
from typing import NamedTuple

import click

from pytest_crab import systems


class Subcommand(NamedTuple):
    """The target of a subcommand ("module:function" below pytest_crab), and its line in the help."""

    target: str
    summary: str


#: The subcommands below the headings of the help, each with its target below pytest_crab.
GROUPS: dict[str, dict[str, Subcommand]] = {
    "Start": {
        "quickstart": Subcommand("cli.quickstart:quickstart", "Copy the quickstart set to a new folder."),
        "init": Subcommand("cli.init:init", "Write crab.yaml and a CI workflow."),
        "doctor": Subcommand("cli.doctor:doctor", "Report what a run can use on this machine."),
    },
    "Results of runs": {
        "report": Subcommand("cli.report:report", "Print the report of a run, or recorded results."),
        "view": Subcommand("cli.view:view", "Show reports in a browser, also of a run under way."),
        "show": Subcommand("cli.show:show", "Show one trial: findings on the diff, oracles, revision."),
        "compare": Subcommand("cli.compare:compare", "Compare two earlier runs, oracle by oracle."),
        "merge": Subcommand("cli.merge:merge", "Make one report of the reports of several shards."),
        "comment": Subcommand("cli.comment:comment", "Write a run's results as one comment on a pull request."),
        "export": Subcommand("cli.export:export", "Write a run as a table, leaderboard, badge or submission."),
        "prune": Subcommand("cli.prune:prune", "Remove what killed runs left, and stored data."),
    },
    "Instances": {
        "new": Subcommand("cli.new:new", "Write the skeleton of an instance."),
        "shell": Subcommand("cli.shell:shell", "Open a shell in the workspace of an instance."),
        "check": Subcommand("cli.check:check", "Validate instances, and audit their oracles."),
        "certify": Subcommand("cli.certify:certify", "Prove oracles, and find missing environments."),
        "error-rates": Subcommand("cli.error_rates:error_rates", "Measure how often oracles are wrong."),
        "curate": Subcommand("cli.curate:curate", "Make a set of instances of merged pull requests."),
    },
    "Published benchmarks and judges": {
        "import": Subcommand("cli.import_:import_", "Make a set of another benchmark's release."),
        "match": Subcommand("benchmarks.aacr.command:match", "Match findings with comments, as AACR-Bench does."),
        "augment": Subcommand("cli.augment:augment", "Add findings of reviews to a set, without duplicates."),
        "sweprbench": Subcommand(
            "benchmarks.sweprbench.command:sweprbench", "Score stored reviews by SWE-PRBench's rule."
        ),
        "compare-rulers": Subcommand("cli.compare_rulers:compare_rulers", "Measure stored reviews by several rulers."),
        "comprehension": Subcommand(
            "benchmarks.codereviewqa.comprehension_command:comprehension", "Print how well models read review comments."
        ),
        "contamination": Subcommand(
            "benchmarks.codereviewqa.contamination_command:contamination", "Measure whether models have seen a set."
        ),
        "distractors": Subcommand(
            "benchmarks.codereviewqa.distractors_command:distractors", "Make questions on your own reviewed code."
        ),
        "audit-table": Subcommand("cli.audit_table:audit_table", "Check the numbers of a published table."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class Commands(click.Group):
    """A group that knows its commands by the table alone, so that asking for help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Name every subcommand."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import the subcommand that was called."""
        if cmd_name not in COMMANDS:
            return None
        reason = systems.refusal()
        if reason is not None:
            raise click.ClickException(reason)
        module, _, name = COMMANDS[cmd_name].target.partition(":")
        command: click.Command = getattr(importlib.import_module(f"pytest_crab.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest subcommand where there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from pytest_crab.formats import format_near

            ctx.fail(f"No such command {args[0]!r}{format_near(args[0], COMMANDS)}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the table into the help, a section for each group."""
        widest = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), command.summary) for name, command in commands.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-crab")
def main() -> None:
    """Measure whether the findings of AI code reviewers lead to the changes that human reviewers asked for."""
