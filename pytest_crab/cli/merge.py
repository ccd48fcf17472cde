"""The merge command: the reports of several shards made into one, as a single run would have written it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab.cli.report import printed_lines
from pytest_crab.errors import BadInput
from pytest_crab.instances import pull_requests
from pytest_crab.results.files import copy_trials, locate_trials
from pytest_crab.results.loading import SUMMARY, TRIALS, load_summary, trials_file
from pytest_crab.results.provenance import require_one_kind
from pytest_crab.show import transcripts
from pytest_crab.show.write_report import remake
from pytest_crab.types import Provenance, Reason, TrialId


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--into", required=True, type=click.Path(file_okay=False, path_type=Path), help="The folder of the new report."
)
@click.option("--incomplete", is_flag=True, help="Merge even if a shard's report is missing.")
def merge(reports: Sequence[Path], into: Path, *, incomplete: bool) -> None:
    """Make one report of several: trials.jsonl, summary.json and the pages, and print the tables.

    REPORTS are report folders, stores or trials.jsonl files. If several hold the same trial, one that was measured
    wins over one that was not run, and a later report over an earlier one. All parts of --crab-shard should be there.
    """
    if into.resolve() in {(report.parent if report.is_file() else report).resolve() for report in reports}:
        raise click.UsageError(f"{into} is one of the reports that are merged; name another folder")
    try:
        files = [trials_file(report) for report in reports]
        shards: set[str] = set()
        strict = False
        for file in files:
            if file.with_name(SUMMARY).is_file():
                told = load_summary(file.with_name(SUMMARY))
                shards.update([told.shard] if told.shard is not None else [])
                strict = strict or told.errors_as_misses
        origins: dict[str, Provenance] = {}
        order = _order(files, shards, origins)
        require_one_kind(str(into), origins)
        if not incomplete:
            _insist(into, shards)
        copy_trials(into / TRIALS, order)
        for file in files:
            pull_requests.copy_subjects(file.parent, into)
            transcripts.copy_transcripts(file.parent, into)
        summary = remake(into, errors_as_misses=strict)
    except OSError as error:
        raise click.ClickException(f"{error.filename or into} cannot be written: {error.strerror}") from error
    for line in printed_lines(summary, into):
        click.echo(line)


def _insist(into: Path, shards: set[str]) -> None:
    """Raise BadInput if a shard that belongs to these, as in 2/4, is not among them."""
    sizes = sorted({int(of) for shard in shards if (of := shard.partition("/")[2]).isdecimal()})
    wanted = [f"{at}/{of}" for of in sizes for at in range(1, of + 1)]
    missing = ", ".join(one for one in wanted if one not in shards)
    if missing:
        raise BadInput(str(into), [f"no report is that of shard {missing}; name it too, or merge with --incomplete"])


def _order(files: Sequence[Path], shards: set[str], origins: dict[str, Provenance]) -> list[tuple[Path, int]]:
    """The place (file, byte) of the record that counts for each trial, by instance, reviewer and repeat.

    The ``shards`` that trials were run in are added to the set, and the ``origins`` of instances to the mapping.
    """
    chosen: dict[TrialId, tuple[bool, tuple[Path, int]]] = {}
    reviewers: dict[str, int] = {}
    for file in files:
        for start, trial in locate_trials(file):
            reviewers.setdefault(trial.reviewer, len(reviewers))
            origins[trial.instance] = trial.provenance
            if "shard" in trial.versions:
                shards.add(str(trial.versions["shard"]))
            ran = any(result.reason is not Reason.NOT_RUN for result in trial.results)
            before = chosen.get(trial.id)
            if before is None or ran or not before[0]:
                chosen[trial.id] = ran, (file, start)
    ordered = sorted(chosen, key=lambda trial: (trial.instance, reviewers[trial.reviewer], trial.repeat))
    return [chosen[trial][1] for trial in ordered]
