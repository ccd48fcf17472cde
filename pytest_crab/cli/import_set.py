"""The import command of sets: rows that were exported become a set again."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.curation import set_rows
from pytest_crab.formats import format_count


@click.command("import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The new set's folder.")
def import_set(folder: Path, out: Path) -> None:
    """Make a set of a FOLDER that export set wrote. Nothing of it is run; check it before its first run."""
    try:
        count = set_rows.import_set(folder, out)
    except ImportError as error:
        raise click.ClickException(f"parquet needs pyarrow ({error}); install pytest-crab[frames]") from error
    click.echo(f"{out}: {format_count(count, 'instance')}; pytest-crab set check {out} says what would run")
