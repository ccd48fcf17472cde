"""The audit-table command: printed results compared with the integer counts that they must come from."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.statistics.consistency import PrintedTable, audit
from pytest_crab.text import one_line
from pytest_crab.yaml_reader import read_document


@click.command("audit-table")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def audit_table(files: tuple[Path, ...]) -> None:
    """Check tables of recall, precision and so on, as a paper prints them, for consistency.

    FILES are YAML, with the numbers as they are printed: the decimals count. Exit status 1 if a table has a fault.
    """
    faulty = False
    for file in files:
        table = read_table(file)
        faults = audit(table)
        click.echo(f"{one_line(table.title)}: {len(table.rows)} rows, {len(faults) or 'no'} inconsistencies")
        for fault in faults:
            click.echo(f"  {one_line(fault.where)}: {one_line(fault.sentence, 1000)}")
        faulty = faulty or bool(faults)
    if faulty:
        raise SystemExit(1)


def read_table(file: Path) -> PrintedTable:
    """Return the table of a YAML file. Raises BadInput with every fault of the file."""
    problems: list[str] = []
    table = serialization.read(PrintedTable, read_document(file), problems)
    if table is None:
        raise BadInput(str(file), problems)
    return table
