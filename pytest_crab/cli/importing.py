"""The import command of a benchmark: its release as a native set, by the importer that it brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pytest_crab.instances.native import Import

#: So many of the sentences on what is missing are printed; the rest is counted, and --all prints it.
SHOWN = 20


def import_command(
    importer: Callable[..., Import], text: str, *, folder: bool = False, options: Sequence[click.Parameter] = ()
) -> click.Command:
    """Return the command that imports a release, a file or with ``folder`` a folder; ``text`` is its help.

    ``importer`` takes the release, the new folder and ``only``, a pattern of ids or None, and by name what ``options``
    add. What it raises as BadInput is the command's error.
    """

    def command(release: Path, out: Path, *, everything: bool, **more: Any) -> None:
        done = importer(release, out, **more)
        for line in (f"{out}: {done.counts()}", *done.details()):
            click.echo(line)
        _say(done.all_notes(), everything=everything)

    place = click.Path(exists=True, file_okay=not folder, dir_okay=folder, path_type=Path)
    return click.Command(
        importer.__name__,
        help=text,
        callback=command,
        params=[
            click.Argument(["release"], type=place, metavar="FOLDER" if folder else "FILE"),
            click.Option(
                ["--out"],
                required=True,
                type=click.Path(path_type=Path),
                help="The folder to make; it must be new or empty.",
            ),
            *options,
            click.Option(["--only"], metavar="REGEX", callback=_compile, help="Only instances whose id has a match."),
            click.Option(
                ["--all", "everything"], is_flag=True, help="Print every note on what is missing, not only the first."
            ),
        ],
    )


def _compile(_ctx: click.Context, _param: click.Parameter, value: str | None) -> re.Pattern[str] | None:
    try:
        return None if value is None else re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"{value!r} is no regular expression ({error})") from error


def _say(sentences: Sequence[str], *, everything: bool) -> None:
    shown = sentences if everything else sentences[:SHOWN]
    for sentence in shown:
        click.echo(f"note: {sentence}")
    if len(sentences) > len(shown):
        click.echo(f"and {len(sentences) - len(shown)} more notes; --all prints them")
