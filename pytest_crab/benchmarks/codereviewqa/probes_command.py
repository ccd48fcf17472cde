"""The probes command: the results of answerers from stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.records import FILE, read_records
from pytest_crab.benchmarks.codereviewqa.summary import summarise_probes
from pytest_crab.benchmarks.codereviewqa.tables import probe_lines
from pytest_crab.cli.shared_options import json_option
from pytest_crab.results.loading import report_file
from pytest_crab.results.recorded_results import Told


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
def probes(reports: tuple[Path, ...]) -> Told:
    """Print the results of answerers. REPORTS are folders of reports, stores, or probes.jsonl files."""
    records = [record for report in reports for record in read_records(report_file(report, FILE))]
    summary = summarise_probes(records)
    return summary, [line.text for line in probe_lines(summary)]
