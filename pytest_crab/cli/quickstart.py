"""The quickstart command: a copy of the set that the package brings."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pytest_crab.formats import format_count
from pytest_crab.instances.quickstart import copy_quickstart


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def quickstart(folder: Path) -> None:
    """Copy the quickstart set to DIR, a new or empty folder, to run pytest on: small projects, no key needed."""
    folder = folder.absolute() if folder.name in ("", "..") else folder
    count = copy_quickstart(folder)
    click.echo(f"{folder}: {format_count(count, 'instance')}")
    click.echo(f"now run: pytest --reviewer=human {shlex.quote(str(folder))}")
