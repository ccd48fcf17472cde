"""The report command: tables of what is on record."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from pytest_crab import plain
from pytest_crab.benchmarks import ccrab
from pytest_crab.benchmarks.recorded import Recording
from pytest_crab.benchmarks.recorded import read_recording
from pytest_crab.errors import BadInput
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.report.agreement import agreement_lines
from pytest_crab.report.agreement import agreements
from pytest_crab.report.files import read_trials
from pytest_crab.report.recorded import recorded_lines
from pytest_crab.report.recorded import summarise_recording


@click.command()
@click.option(
    "--recorded",
    "folder",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A set that was imported, or c-CRAB's release itself: its recorded verdicts, and nothing is run.",
)
@click.option(
    "--against",
    "trials",
    type=click.Path(exists=True, path_type=Path),
    help="A report's folder or its trials.jsonl: compare the verdicts that a replay came to with the recorded ones.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def report(folder: Path, trials: Path | None, *, as_json: bool) -> None:
    """Print what recorded verdicts come to: rates, union and overlaps, rates per repository."""
    try:
        recording = _recording(folder)
        found, lines = _summary(recording) if trials is None else _agreement(recording, trials)
    except BadInput as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(plain.dump(found), indent=1))
        return
    for line in lines:
        click.echo(line)


def _recording(folder: Path) -> Recording:
    if (folder / FOLDER).is_dir():
        return read_recording(folder)
    return ccrab.recording(ccrab.read(ccrab.find(folder)))


def _summary(recording: Recording) -> tuple[Any, Iterable[str]]:
    summary = summarise_recording(recording)
    return summary, recorded_lines(summary)


def _agreement(recording: Recording, trials: Path) -> tuple[Any, Iterable[str]]:
    found = agreements(read_trials(trials / "trials.jsonl" if trials.is_dir() else trials), recording)
    return found, agreement_lines(found)
