"""The export command: a run as tables, a leaderboard or a badge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click

from pytest_crab.curation import set_rows
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances.loading import load_instances
from pytest_crab.results.files import read_trials, write_report_file
from pytest_crab.results.loading import load_summary, trials_file
from pytest_crab.results.oracle_rows import write_csv, write_parquet
from pytest_crab.show.leaderboard import badge as badge_of, badge_svg, leaderboard_lines
from pytest_crab.types import Trial


@click.group()
def export() -> None:
    """Write a run as a table, a leaderboard or a badge, or a set as rows."""


_REPORT = click.argument("report", type=click.Path(exists=True, path_type=Path))
_OUT = click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
_WRITERS: Mapping[str, Callable[[Path, Iterable[Trial]], None]] = {"csv": write_csv, "parquet": write_parquet}


@export.command()
@_REPORT
@_OUT
def csv(report: Path, out: Path) -> None:
    """Write one row per oracle and trial of REPORT as CSV; columns are those of load_frame."""
    _write_table("csv", report, out)


@export.command()
@_REPORT
@_OUT
def parquet(report: Path, out: Path) -> None:
    """Write one row per oracle and trial of REPORT as Parquet; needs pytest-crab[frames]."""
    _write_table("parquet", report, out)


@export.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def leaderboard(reports: tuple[Path, ...]) -> None:
    """Print a Markdown table of the reviewers of all REPORTS, the highest rate first."""
    click.echo("\n".join(leaderboard_lines({str(path): load_summary(path) for path in reports})))


@export.command()
@_REPORT
@click.option("--reviewer", metavar="NAME", help="Whose rate to show; needed where REPORT has several reviewers.")
@_OUT
def badge(report: Path, reviewer: str | None, out: Path) -> None:
    """Write a badge with a reviewer's rate: an SVG, or for a name in .json the JSON of a shields.io endpoint."""
    found = load_summary(report).contestants
    name = next(iter(found)) if reviewer is None and len(found) == 1 else reviewer
    if name not in found:
        known = format_names(sorted(found), 20)
        raise click.ClickException(f"{report}: its reviewers are {known}; name one with --reviewer")
    told = badge_of(found[name])
    _write(out, json.dumps(told) + "\n" if out.suffix == ".json" else badge_svg(told))


@export.command("set")
@click.argument("place", metavar="SET", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The new folder.")
@click.option(
    "--parquet", "as_parquet", is_flag=True, help="Write Parquet and not JSON Lines; needs pytest-crab[frames]."
)
def export_set(place: Path, out: Path, *, as_parquet: bool) -> None:
    """Write a set of instances as rows to hand on, with a dataset card; set import reads them."""
    try:
        instances = load_instances(place)
        set_rows.export_set(place, instances, out, parquet=as_parquet)
    except ImportError as error:
        raise click.ClickException(f"parquet needs pyarrow ({error}); install pytest-crab[frames]") from error
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{out} cannot be written: {error}") from error
    click.echo(f"{out}: {format_count(len(instances), 'instance')}")


def _write_table(name: str, report: Path, out: Path) -> None:
    try:
        _WRITERS[name](out, read_trials(trials_file(report)))
    except ImportError as error:
        raise click.ClickException(f"{name} needs pyarrow ({error}); install pytest-crab[frames]") from error
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror or error}") from error
    click.echo(f"{out}: written")


def _write(out: Path, text: str) -> None:
    try:
        write_report_file(out, [text.encode(errors="backslashreplace")])
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror or error}") from error
    click.echo(f"{out}: written")
