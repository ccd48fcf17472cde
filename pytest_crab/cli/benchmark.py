"""The benchmark command: the commands that the installed benchmarks bring."""

from __future__ import annotations

import click

from pytest_crab.cli.lazy_group import LazyGroup, Sections
from pytest_crab.registry import Subcommand, benchmarks


class _Benchmarks(LazyGroup):
    """A group of one group for each benchmark, and of what is about no one of them."""

    def load(self, name: str, command: Subcommand) -> click.Command:
        """Return the group of a benchmark's commands, or the command that has a target of its own."""
        if command.target:
            return super().load(name, command)
        own = benchmarks()[name].commands
        return LazyGroup(name, sections=lambda: {"Commands": own}, help=command.summary)


def _sections() -> Sections:
    offering = {name: one for name, one in benchmarks().items() if one.commands}
    return {
        "Benchmarks": {
            name: Subcommand("", f"{one.title}: {', '.join(one.commands)}.") for name, one in offering.items()
        },
        "Any": {
            "audit-table": Subcommand(
                "pytest_crab.cli.audit_table:audit_table", "Check the numbers of a published table."
            ),
        },
    }


@click.group(cls=_Benchmarks, sections=_sections)
def benchmark() -> None:
    """Work with a published benchmark: benchmark NAME COMMAND. What NAME import makes is a set as any other."""
