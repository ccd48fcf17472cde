"""The distractors command: questions for one's own rows of reviewed code, in the form of CodeReviewQA's release."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click

from pytest_crab.atomic import SHARED, write_atomically
from pytest_crab.benchmarks.archives import json_lines, read_record
from pytest_crab.benchmarks.distractors import ReviewedCode, fault_of_comment, questions_on
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count


@click.command()
@click.argument("rows", metavar="ROWS", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--all", "everything", is_flag=True, help="Keep comments that the filters would leave out.")
def distractors(rows: Path, *, out: Path, everything: bool) -> None:
    """Make questions on the type and the lines of a change for each of ROWS, which are JSON lines.

    A row has old and new code with marked lines, its review comment and its language. Other keys are kept.
    """
    if out.exists():
        raise click.ClickException(f"{out} is there already; name a new file")
    try:
        made, left_out = _questions(rows, everything=everything)
    except BadInput as error:
        raise click.ClickException(str(error)) from error
    try:
        write_atomically(out, [f"{json.dumps(row)}\n".encode() for row in made], SHARED)
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written ({error.strerror}): name another file") from error
    click.echo(f"{out}: {format_count(len(made), 'row')} with questions, {left_out.total()} left out")
    for why, count in sorted(left_out.items()):
        click.echo(f"  {count}: {why}")


def _questions(file: Path, *, everything: bool) -> tuple[list[dict[str, object]], Counter[str]]:
    """Return the rows with their questions, and the reasons of those that have none. Raises BadInput."""
    made: list[dict[str, object]] = []
    left_out: Counter[str] = Counter()
    problems: list[str] = []
    for number, line in json_lines(file):
        row = read_record(line, ReviewedCode, {}, problems, f"line {number}")
        if row is None:
            continue
        fault = None if everything else fault_of_comment(row.review)
        found = fault or questions_on(row)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            made.append({**json.loads(line), **found})
    if problems:
        raise BadInput(str(file), problems)
    return made, left_out
