"""The show command: one trial from the record, its findings on the diff, its revision, its oracles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.cli.lookup import find_trials
from pytest_crab.cli.shared_options import record_option, store_option
from pytest_crab.errors import CrabError
from pytest_crab.instances import find_instances, load_instance
from pytest_crab.instances.pull_requests import Subject, read_subject, subject_of
from pytest_crab.registry import offered
from pytest_crab.show.terminal import Line
from pytest_crab.show.transcripts import Transcript, read_transcript, stored_transcript
from pytest_crab.show.trial_view import show_transcripts, show_trial, transcript_lines, trial_head
from pytest_crab.sources import fetcher_for
from pytest_crab.store import FileStore
from pytest_crab.text import escape_controls, one_line
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
    help="Where the instance lies, if the report does not have its diff.",
)  # fmt: skip
@click.option("--transcript", "transcripts", is_flag=True, help="Print the prompts and answers of reviewer and agent.")
def show(trial: str, report: Path | None, store: Path, folder: Path, *, transcripts: bool) -> None:
    """Show one TRIAL of the record: findings placed on the diff, oracles with comments and reasons, and the revision.

    TRIAL is INSTANCE::REVIEWER, with [N] for the N-th repeat, as pytest prints it; the start of an instance's id will
    do. Without a reviewer every trial of the instance is shown. With --transcript it may also be a transcript's key, as
    errors name it.
    """
    key = _full_key(trial, store) if transcripts else None
    if key is not None:
        found = stored_transcript(FileStore(store), key)
        _print([] if found is None else transcript_lines(found))
        return
    others = [one for _, shown in offered(lambda one: one.shown) for one in shown(trial, report or store)]
    place, trials = _find(trial, report, store, may_miss=bool(others))
    for one in others:
        for line in (*one.lines, *(one.asked if transcripts else ())):
            click.echo(escape_controls(line))
        if transcripts and one.transcripts:
            _print(show_transcripts(_transcripts(one.transcripts, one.report, store)))
    for number, one in enumerate(trials):
        if number or others:
            click.echo()
        _print(
            (*trial_head(one), *show_transcripts(_transcripts(one.transcripts, place, store)))
            if transcripts
            else show_trial(one, _subject(one, place, folder, store))
        )


def _find(trial: str, report: Path | None, store: Path, *, may_miss: bool) -> tuple[Path, Sequence[Trial]]:
    """Return trials as ``find_trials`` does; with ``may_miss`` none where it raises."""
    try:
        return find_trials(trial, report, store)
    except click.ClickException:
        if not may_miss:
            raise
        return store, ()


def _print(lines: Iterable[Line]) -> None:
    for line in lines:
        click.echo(click.style(line.text, **_STYLES.get(line.style, {})))  # type: ignore[arg-type]


def _full_key(name: str, store: Path) -> str | None:
    """The key of the one transcript in the store whose key begins like this; None if the name is no such thing."""
    if not re.fullmatch("[0-9a-f]{12,64}", name):
        return None
    found = [path.stem for step, path in FileStore(store).objects() if step == "transcript"]
    found = [key for key in found if key.startswith(name)]
    return found[0] if len(found) == 1 else None


def _transcripts(keys: Sequence[str], report: Path, store: Path) -> Iterator[Transcript]:
    """The transcripts of these keys: whole ones from the store, else what the report has of them."""
    beside = report if report.is_dir() else report.parent
    for key in keys:
        found = stored_transcript(FileStore(store), key) or read_transcript(beside, key)
        if found is not None:
            yield found


def _subject(trial: Trial, report: Path, folder: Path, store: Path) -> Subject | None:
    """Return a trial's pull request, from the report or an instance below the folder; None if neither has it."""
    found = read_subject(report if report.is_dir() else report.parent, trial.instance)
    if found is not None:
        return found
    for file in find_instances(folder):
        if file.parent.name == trial.instance:
            try:
                instance = load_instance(file)
                diff = fetcher_for(instance).fetch(instance, FileStore(store).cache).pull_request_diff()
                return subject_of(instance, diff)
            except CrabError as error:
                click.echo(one_line(f"{trial.instance}: {error}"), err=True)
                return None
    return None
