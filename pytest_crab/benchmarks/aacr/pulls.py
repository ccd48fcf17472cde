"""The pulls command: AACR-Bench's pull requests by domain, size and language (arXiv 2601.19494, tables 5 and 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from pytest_crab.benchmarks.aacr.reader import AnnotatedPull, read_rows
from pytest_crab.cli.shared_options import json_option
from pytest_crab.formats import format_table
from pytest_crab.results.recorded_results import Told
from pytest_crab.statistics.pull_classes import SIZES


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def pulls(file: Path) -> Told:
    """Count the pull requests and comments of FILE, positive_samples.json, by domain, size and language."""
    rows = list(read_rows(file))
    found = {
        "domain": _counts(rows, [row.category for row in rows]),
        "size": _counts(rows, [row.size for row in rows], order=list(SIZES)),
        "language": _counts(rows, [row.project_main_language for row in rows]),
    }
    return found, _lines(found)


def _lines(found: Mapping[str, Mapping[str, tuple[int, int]]]) -> Iterator[str]:
    for dimension, counts in found.items():
        cells = [(label or "not stated", str(count[0]), str(count[1])) for label, count in counts.items()]
        yield from format_table([(dimension, "pull requests", "comments"), *cells])
        yield ""


def _counts(
    rows: Sequence[AnnotatedPull], labels: Sequence[str], order: Sequence[str] = ()
) -> dict[str, tuple[int, int]]:
    """Return the numbers of pull requests and of comments by label: in this order, the others by their number."""
    own = Counter(labels)
    comments: Counter[str] = Counter()
    for row, label in zip(rows, labels, strict=True):
        comments[label] += len(row.comments)
    return {label: (own[label], comments[label]) for label in dict.fromkeys((*order, *dict(own.most_common())))}
