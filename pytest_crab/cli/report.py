"""The report command: tables of what is on record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from pytest_crab.cli.shared_options import STORE, json_option
from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_trials
from pytest_crab.results.finding_labels import add_finding_labels
from pytest_crab.results.kept_runs import named_report
from pytest_crab.results.loading import SUMMARY, load_summary, trials_file
from pytest_crab.results.recorded_results import Told, require_recorded
from pytest_crab.results.summary import Summary
from pytest_crab.show.page import FILE as PAGE
from pytest_crab.show.stored_report import write_reviews
from pytest_crab.show.terminal import summary_lines
from pytest_crab.show.write_report import remake


@click.command()
@click.argument("place", required=False, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--recorded",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="An imported set, or a benchmark's release with recorded results: runs nothing.",
)
@click.option(
    "--against",
    "trials",
    type=click.Path(exists=True, path_type=Path),
    help="A report's folder or its trials.jsonl: compare the verdicts of a replay with the recorded ones.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="With --recorded: write the reviews that it holds as a report into this new folder.",
)
@click.option(
    "--finding-labels",
    "labels",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file with labels of findings (columns trial, finding and one for each dimension): add them to PLACE.",
)
@click.option("--all-pairs", is_flag=True, help="Compare every pair of reviewers; of more than 5 only some are.")
@json_option
def report(
    place: Path | None,
    folder: Path | None,
    trials: Path | None,
    out: Path | None,
    labels: Path | None,
    *,
    all_pairs: bool,
) -> Told:
    """Print recorded results and write their pages, running nothing.

    PLACE is a report's folder, its trials.jsonl, or a store; .crab if not given. Prints the summary, and writes
    summary.json, index.html, summary.md and oracles.csv beside the records. With --recorded: prints the
    rates of recorded verdicts, with union and overlaps and rates per repository.
    """
    if (place is not None and folder is not None) or (trials is not None and folder is None):
        raise click.UsageError("name a report's folder, or --recorded with a set; --against goes with --recorded")
    if place is None and folder is None:
        place = STORE
    if out is not None and (folder is None or trials is not None):
        raise click.UsageError("--out goes with --recorded, and not with --against")
    if (labels is not None or all_pairs) and place is None:
        raise click.UsageError("--finding-labels and --all-pairs go with a report's folder")
    try:
        if place is not None:
            return _again(place, labels, all_pairs=all_pairs)
        assert folder is not None
        return _read_recorded(folder, trials) if out is None else _as_report(folder, out)
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be written: {error.strerror}") from error


def _again(place: Path, labels: Path | None, *, all_pairs: bool) -> Told:
    file = trials_file(place)
    if labels is not None:
        add_finding_labels(file, labels)
    before = load_summary(file.with_name(SUMMARY)) if file.with_name(SUMMARY).is_file() else Summary()
    summary = remake(
        file.parent,
        errors_as_misses=before.errors_as_misses,
        shard=before.shard,
        gate=before.gate,
        all_pairs=all_pairs,
    )
    return summary, [*printed_lines(summary, file.parent), f"report: {file.with_name(PAGE)}"]


def _as_report(folder: Path, out: Path) -> Told:
    found = next((one.reviews for one in require_recorded(folder) if one.reviews is not None), None)
    if found is None:
        raise BadInput(str(folder), ["it has no texts of reviews, which --out writes"])
    reviews, version = found()
    summary = write_reviews(reviews, out, version)
    return summary, [*printed_lines(summary, out), f"report: {out / PAGE}"]


def printed_lines(summary: Summary, report: Path) -> Iterator[str]:
    """Yield the lines of a run's results, as wide as this terminal; ``report`` is where its report is."""
    width = max(80, shutil.get_terminal_size().columns)
    yield from (line.text for line in summary_lines(summary, width, report=named_report(report)))


def _read_recorded(folder: Path, trials: Path | None) -> Told:
    found = require_recorded(folder)
    if trials is None:
        return found[0].report()
    against = next((one.against for one in found if one.against is not None), None)
    if against is None:
        raise click.UsageError(f"--against compares verdicts of oracles, and {folder} holds judgements only")
    return against(read_trials(trials / "trials.jsonl" if trials.is_dir() else trials))
