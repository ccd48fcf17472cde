"""The set command: what makes the instances of a set, proves them, and measures their oracles."""

from __future__ import annotations

import click

from pytest_crab.cli.lazy_group import LazyGroup, Sections
from pytest_crab.registry import Subcommand


def _sections() -> Sections:
    return {
        "Make": {
            "new": Subcommand("pytest_crab.cli.new:new", "Write the skeleton of an instance."),
            "curate": Subcommand("pytest_crab.cli.curate:curate", "Make a set of instances of merged pull requests."),
            "inject": Subcommand("pytest_crab.cli.inject:inject", "Make a set of known faults of any repository."),
            "import": Subcommand("pytest_crab.cli.import_set:import_set", "Make a set of rows that were exported."),
            "augment": Subcommand(
                "pytest_crab.cli.augment:augment", "Add findings of reviews to a set, without duplicates."
            ),
        },
        "Prove": {
            "shell": Subcommand("pytest_crab.cli.shell:shell", "Open a shell in the workspace of an instance."),
            "check": Subcommand("pytest_crab.cli.check:check", "Validate instances, and audit their oracles."),
            "certify": Subcommand("pytest_crab.cli.certify:certify", "Prove oracles, and find missing environments."),
            "error-rates": Subcommand(
                "pytest_crab.cli.error_rates:error_rates", "Measure how often oracles are wrong."
            ),
        },
    }


@click.group(cls=LazyGroup, sections=_sections)
def sets() -> None:
    """Make a set of instances, and prove it."""
