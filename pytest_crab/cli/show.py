"""The show command: one trial from the record, its findings on the diff, its revision, its oracles."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.cli.choices import record_option
from pytest_crab.cli.choices import store_option
from pytest_crab.cli.naming import named_trials
from pytest_crab.errors import BadInput
from pytest_crab.errors import CrabError
from pytest_crab.instances import find_instances
from pytest_crab.instances import load_instance
from pytest_crab.report.placed import placed
from pytest_crab.report.text import one_line
from pytest_crab.sources import source_for
from pytest_crab.store import FileStore
from pytest_crab.types import Trial

_STYLES = {
    "heading": {"bold": True}, "added": {"fg": "green"}, "removed": {"fg": "red"}, "finding": {"fg": "yellow"},
    "comment": {"fg": "cyan"}, "good": {"fg": "green"}, "bad": {"fg": "red"},
}  # fmt: skip


@click.command()
@click.argument("trial", metavar="TRIAL")
@record_option
@store_option("The store of the run.")
@click.option(
    "--set", "folder", type=click.Path(exists=True, path_type=Path), default=Path(), show_default=True,
    help="Where the instance lies, whose diff findings are placed on.",
)  # fmt: skip
def show(trial: str, report: Path | None, store: Path, folder: Path) -> None:
    """Show one TRIAL of the record: findings placed on the diff, oracles with reasons, and the revision.

    TRIAL is INSTANCE::REVIEWER, with [N] for the N-th repeat, as pytest prints it; the start of an instance's id will
    do. Without a reviewer every trial of the instance is shown.
    """
    try:
        for number, one in enumerate(named_trials(trial, report or store / "report")):
            if number:
                click.echo()
            for line in placed(one, _diff(one, folder, store)):
                click.echo(click.style(line.text, **_STYLES.get(line.style, {})))  # type: ignore[arg-type]
    except BadInput as error:
        raise click.ClickException(str(error)) from error


def _diff(trial: Trial, folder: Path, store: Path) -> str | None:
    """The pull request's diff, if its instance lies below the folder and its source can be had."""
    for file in find_instances(folder):
        if file.parent.name == trial.instance:
            try:
                instance = load_instance(file)
                return source_for(instance).fetch(instance, FileStore(store).cache).pull_request_diff()
            except CrabError as error:
                click.echo(one_line(f"{trial.instance}: {error}"), err=True)
                return None
    return None
