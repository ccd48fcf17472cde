"""The show command: one trial from the record, its findings on the diff, its revision, its oracles."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import click

from pytest_crab.cli.choices import store_option
from pytest_crab.errors import BadInput
from pytest_crab.errors import CrabError
from pytest_crab.instances import FILE
from pytest_crab.instances import find_instances
from pytest_crab.instances import load_instance
from pytest_crab.report.files import read_trials
from pytest_crab.report.placed import placed
from pytest_crab.report.text import one_line
from pytest_crab.sources import source_for
from pytest_crab.store import FileStore
from pytest_crab.types import Trial

_STYLES = {
    "heading": {"bold": True}, "added": {"fg": "green"}, "removed": {"fg": "red"}, "finding": {"fg": "yellow"},
    "comment": {"fg": "cyan"}, "good": {"fg": "green"}, "bad": {"fg": "red"},
}  # fmt: skip
_NAME = re.compile(r"(?:.*/)?(?P<instance>[^/:]+)(?:::(?P<reviewer>[^\[]+)(?:\[(?P<repeat>\d+)\])?)?")


@click.command()
@click.argument("trial", metavar="TRIAL")
@click.option(
    "--report", type=click.Path(path_type=Path),
    help="A report's folder, or its trials.jsonl; the one in the store if not given.",
)  # fmt: skip
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
    path = report or store / "report"
    try:
        found = _matching(trial, path / "trials.jsonl" if path.is_dir() or not path.suffix else path)
        for number, one in enumerate(found):
            if number:
                click.echo()
            for line in placed(one, _diff(one, folder, store)):
                click.echo(click.style(line.text, **_STYLES.get(line.style, {})))  # type: ignore[arg-type]
    except BadInput as error:
        raise click.ClickException(str(error)) from error


def _matching(name: str, path: Path) -> list[Trial]:
    """The trials that are meant. Raises click's errors for a name that stands for none, or for several instances."""
    match = _NAME.fullmatch(name.replace(f"/{FILE}", "", 1))
    if match is None:
        raise click.UsageError(f"{name} is no trial's name; it should be INSTANCE::REVIEWER or INSTANCE::REVIEWER[N]")
    if not path.is_file():
        raise click.ClickException(f"{path} is not there; run pytest first, or name a report with --report")
    names: dict[tuple[str, str, int], None] = {}
    exact: list[Trial] = []
    starting: list[Trial] = []
    for one in read_trials(path):
        names[one.instance, one.reviewer, one.repeat] = None
        if match["reviewer"] not in (None, one.reviewer) or match["repeat"] not in (None, str(one.repeat)):
            continue
        if one.instance == match["instance"]:
            exact.append(one)
        elif one.instance.startswith(match["instance"]):
            starting.append(one)
    found = exact or starting
    instances = sorted({one.instance for one in found})
    if len(instances) > 1:
        raise click.UsageError(f"{name} may be a trial of {', '.join(instances[:5])}; write more of the id")
    if not found:
        known = [f"{instance}::{reviewer}" for instance, reviewer, _ in names]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
        told = f"; there is {', '.join(map(one_line, near))}" if near else ""
        raise click.ClickException(f"{one_line(name)} is not among the {len(names)} trials of {path}{told}")
    return found


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
