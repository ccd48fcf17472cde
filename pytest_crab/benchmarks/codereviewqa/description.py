"""The description of a set's rows: table 4 of CodeReviewQA's paper (arXiv 2503.16167, appendix D)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType, probes_in
from pytest_crab.cli.shared_options import json_option
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_table
from pytest_crab.instances import load_instances
from pytest_crab.instances.files import file_bytes
from pytest_crab.results.recorded_results import Told
from pytest_crab.types import Instance

_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The spread of a figure over so many rows."""

    name: str
    rows: int
    least: float
    most: float
    mean: float
    #: Of a sample; None for a single row.
    sd: float | None
    q1: float
    median: float
    q3: float


def describe(instances: Iterable[Instance]) -> list[Spread]:
    """Return the lines of the table. Instances that are no rows of the release are left out. Raises SourceError."""
    values: dict[str, list[float]] = {}
    for instance in instances:
        for name, value in _values(instance):
            values.setdefault(name, []).append(value)
    return [_spread(name, values[name]) for name in _NAMES if name in values]


_LOCATIONS = {change: f"lines, {change}" for change in ChangeType}
_NAMES = ("comment (words)", "edit distance", *_LOCATIONS.values(), "code in comment", "specification")


def _values(instance: Instance) -> Iterator[tuple[str, float]]:
    """Yield what the paper describes of a row.

    These are the words of the comment, the Levenshtein distance of the code before and after, the lines that change,
    the share of the comment's words that stand between backticks, and the distance by word.
    """
    snippet, probes = instance.source.snippet, probes_in(instance)
    if snippet is None or probes is None:
        return
    comment = instance.comments[0].body
    old, new = (file_bytes(instance, name).decode("utf-8", "replace") for name in (snippet.head, snippet.reference))
    words, distance = len(comment.split()), levenshtein(old, new)
    figures = (words, distance, len(probes.lines.correct), sum(len(code.split()) for code in _CODE.findall(comment)))
    yield _NAMES[0], figures[0]
    yield _NAMES[1], figures[1]
    yield _LOCATIONS[probes.change], figures[2]
    yield _NAMES[-2], figures[3] / words
    yield _NAMES[-1], distance / words


def levenshtein(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the least number of characters to insert, delete or replace that makes the second of the first."""
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    start = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    start = min(len(first), len(second)) if start is None else start
    row = list(range(len(second) - start + 1))
    for up, a in enumerate(first[start:], 1):
        corner, row[0] = row[0], up
        for at, b in enumerate(second[start:], 1):
            corner, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, corner + (a != b))
    return row[-1]


def _spread(name: str, values: Sequence[float]) -> Spread:
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return Spread(
        name=name,
        rows=len(values),
        least=min(values),
        most=max(values),
        mean=statistics.fmean(values),
        sd=statistics.stdev(values) if len(values) > 1 else None,
        q1=q1,
        median=median,
        q3=q3,
    )


@click.command("statistics")
@click.argument("sets", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def describe_command(sets: tuple[Path, ...]) -> Told:
    """Print how long comments are and how large the changes they ask for, of SETS of CodeReviewQA's rows."""
    found = describe(instance for folder in sets for instance in load_instances(folder))
    if not found:
        raise BadInput(str(sets[0]), ["it holds no row of CodeReviewQA, so there is nothing to describe"])
    heads = ("", "rows", "min", "max", "mean", "SD", "Q1", "median", "Q3")
    rows = [
        [one.name, str(one.rows), *(_figure(each) for each in (one.least, one.most, one.mean, one.sd)),
         *(_figure(each) for each in (one.q1, one.median, one.q3))]
        for one in found
    ]  # fmt: skip
    return found, format_table([heads, *rows])


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
