"""The export command: the reviews of a run as a submission to AACR-Bench's leaderboard."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_crab.benchmarks.aacr.submissions import export_submissions
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances import load_instances
from pytest_crab.results.loading import trials_file
from pytest_crab.results.rulers import reviews_of
from pytest_crab.types import Trial

#: So many names of pull requests without a review are printed.
_SHOWN = 3


@click.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--set", "folder", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The imported set that was reviewed.",
)  # fmt: skip
@click.option("--reviewer", required=True, metavar="NAME", help="Whose reviews to write.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="The number of the repeat.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to make; new or empty.")
def export(report: Path, folder: Path, reviewer: str, repeat: int, out: Path) -> None:
    """Write a submission to AACR-Bench's leaderboard: one JSON file for each review that REPORT holds."""
    done = export_submissions(_reviews_by(reviewer, repeat, report), load_instances(folder), out)
    click.echo(f"{out}: {format_count(done.files, 'review')} by {reviewer}")
    if done.missing:
        click.echo(f"no review of {format_names(done.missing, _SHOWN)}: each counts as missed there")
    if done.without_usage:
        click.echo(f"tokens of {format_count(done.without_usage, 'review')} were not measured; they are written as 0")


def _reviews_by(reviewer: str, repeat: int, report: Path) -> list[Trial]:
    trials = reviews_of(trials_file(report))
    own = [trial for trial in trials if (trial.reviewer, trial.repeat) == (reviewer, repeat)]
    if not own:
        known = sorted({trial.reviewer for trial in trials})
        problem = f"it has no review {repeat} by {reviewer!r}; its reviewers are {format_names(known, 20)}"
        raise BadInput(str(report), [problem])
    return own
