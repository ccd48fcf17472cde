"""The import command: another benchmark's release as a native set."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click

from pytest_crab.benchmarks.aacr.reader import import_aacr
from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.benchmarks.importing import PAPER_KINDS, import_ccrab
from pytest_crab.benchmarks.swecare.reader import import_swecare
from pytest_crab.benchmarks.sweprbench.reader import import_sweprbench
from pytest_crab.errors import BadInput
from pytest_crab.instances.native import Import
from pytest_crab.types import Kind

#: So many of the sentences on what is missing are printed; the rest is counted, and --all prints it.
SHOWN = 20


def _compile(_ctx: click.Context, _param: click.Parameter, value: str | None) -> re.Pattern[str] | None:
    try:
        return None if value is None else re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"{value!r} is no regular expression ({error})") from error


_OUT = click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The folder to make; it must be new or empty."
)
_ONLY = click.option("--only", metavar="REGEX", callback=_compile, help="Only instances whose id has a match.")
_ALL = click.option(
    "--all", "everything", is_flag=True, help="Print every note on what is missing, not only the first."
)


@click.group(name="import")
def import_() -> None:
    """Make a native instance set of another benchmark's release."""


@import_.command()
@click.argument("release", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_OUT
@click.option("--stage", type=click.IntRange(0, 9), default=4, show_default=True, help="Rows of this stage file.")
@_ONLY
@_ALL
def ccrab(release: Path, out: Path, stage: int, only: re.Pattern[str] | None, *, everything: bool) -> None:
    """Import c-CRAB's public RELEASE, a folder with its zips or with what was in them."""
    try:
        done = import_ccrab(release, out, stage=stage, only=only)
    except BadInput as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {done.instances} instances, {done.comments} comments, {done.oracles} oracles")
    kinds, resolved, paper = (_kinds(counts) for counts in (done.kinds, done.resolved_kinds, PAPER_KINDS))
    click.echo(f"kinds, inferred: {kinds}; of all resolved comments here {resolved}; of all in the paper {paper}")
    for tool, count in sorted(done.recorded.items()):
        click.echo(f"recorded results of {tool}: {count}")
    for what, count in done.checked.items():
        click.echo(f"{what}: {count}")
    for reason, count in done.unchecked.items():
        click.echo(f"base not checked for {count} instances: {reason}")
    _say([*done.notes, *done.rows], everything=everything)


@import_.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_OUT
@_ONLY
@click.option("--sample", metavar="NAME", help="Only the tasks of this sample, such as eval_100.")
@_ALL
def sweprbench(folder: Path, out: Path, only: re.Pattern[str] | None, sample: str | None, *, everything: bool) -> None:
    """Import SWE-PRBench's data set, a FOLDER with prs.jsonl and annotations/, as instances without environment."""
    _import_rows(functools.partial(import_sweprbench, sample=sample), folder, out, only, everything=everything)


def _add_file_command(name: str, importer: Callable[..., Import], text: str) -> None:
    """Add the command that imports one file of rows; ``text`` is its help."""

    @import_.command(name, help=text)
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    @_OUT
    @_ONLY
    @_ALL
    def command(file: Path, out: Path, only: re.Pattern[str] | None, *, everything: bool) -> None:
        _import_rows(importer, file, out, only, everything=everything)


_add_file_command(
    "swecare", import_swecare, "Import the rows of SWE-CARE's FILE, JSON lines, as instances without oracles."
)
_add_file_command(
    "aacr",
    import_aacr,
    "Import AACR-Bench's FILE, positive_samples.json, as instances without environment and oracles.",
)
_add_file_command(
    "codereviewqa",
    import_codereviewqa,
    "Import CodeReviewQA's FILE, JSON lines, as questions about review comments for pytest --answerer.",
)


def _import_rows(
    importer: Callable[..., Import], file: Path, out: Path, only: re.Pattern[str] | None, *, everything: bool
) -> None:
    try:
        done = importer(file, out, only=only)
    except BadInput as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {done.instances} instances, {done.comments} comments, no oracles")
    _say(done.notes, everything=everything)


def _kinds(counts: Mapping[Kind, int]) -> str:
    return " and ".join(f"{counts.get(kind, 0)} {kind}" for kind in Kind)


def _say(notes: Iterable[str], *, everything: bool) -> None:
    sentences = list(notes)
    shown = sentences if everything else sentences[:SHOWN]
    for sentence in shown:
        click.echo(f"note: {sentence}")
    if len(sentences) > len(shown):
        click.echo(f"and {len(sentences) - len(shown)} more notes; --all prints them")
