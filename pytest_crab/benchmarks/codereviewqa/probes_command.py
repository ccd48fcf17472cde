"""The probes command: the results of answerers from stored runs."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.records import FILE, read_records
from pytest_crab.benchmarks.codereviewqa.summary import summarise_probes
from pytest_crab.benchmarks.codereviewqa.tables import probe_lines
from pytest_crab.cli.shared_options import json_option, print_json
from pytest_crab.results.loading import report_file


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
def probes(reports: tuple[Path, ...], *, as_json: bool) -> None:
    """Print the results of answerers. REPORTS are folders of reports, stores, or probes.jsonl files."""
    records = [record for report in reports for record in read_records(report_file(report, FILE))]
    summary = summarise_probes(records)
    if as_json:
        print_json(summary)
    else:
        click.echo("\n".join(line.text for line in probe_lines(summary)))
