"""Martian's judgements by language, size and domain of the pull request, and by severity of the known issue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from pytest_crab.benchmarks.martian.reader import MartianPull, MartianRelease, MartianResult, read_martian
from pytest_crab.cli.shared_options import json_option
from pytest_crab.formats import format_percent, format_table
from pytest_crab.results.recorded_results import Told
from pytest_crab.statistics.signal import f_measure
from pytest_crab.text import one_line

#: Labels of pull requests, and the one of single issues, of which there is recall alone.
DIMENSIONS = ("language", "size", "domain", SEVERITY := "severity")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRates:
    """The counts and rates of one reviewer under one judge on what has one label; None where nothing can be divided."""

    judge: str
    reviewer: str
    label: str
    expected: int
    matched: int
    #: None of a severity, which no comment has that matches no issue.
    incorrect: int | None
    precision: float | None
    recall: float | None
    f1: float | None


@click.command()
@click.argument("release", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--by",
    "dimension",
    type=click.Choice(DIMENSIONS),
    default="language",
    show_default=True,
    help="The labels to slice by.",
)
@json_option
def slices(release: Path, dimension: str) -> Told:
    """Print the rates of each tool in RELEASE by a label of its pull requests, or of its known issues."""
    found = list(rates_by(read_martian(release), dimension))
    if not found:
        raise click.ClickException(f"{release}: no pull request has a {dimension}; is pr_labels.json there?")
    return found, _lines(found, dimension)


def rates_by(release: MartianRelease, dimension: str) -> Iterator[LabelRates]:
    """Yield the rates of every tool under every judge, by the labels of a dimension; a tool without a result missed."""
    for judge, by_tool in release.judged.items():
        for tool, results in by_tool.items():
            expected: Counter[str] = Counter()
            matched: Counter[str] = Counter()
            incorrect: Counter[str] = Counter()
            for url, pull in release.pulls.items():
                label = release.labels.get(url, {}).get(dimension)
                if label is not None and url in results:
                    incorrect[label] += results[url].incorrect
                for own, hit in _issues(pull, results.get(url), dimension, label):
                    expected[own] += 1
                    matched[own] += hit
            for label, count in sorted(expected.items()):
                said = None if dimension == SEVERITY else incorrect[label]
                yield _rates(judge, tool, label, count, matched[label], said)


def _issues(
    pull: MartianPull, result: MartianResult | None, dimension: str, label: str | None
) -> Iterator[tuple[str, bool]]:
    """Yield the label of each known issue of a pull request, and whether it was found."""
    for number, issue in enumerate(pull.issues):
        own = issue.labels[SEVERITY] if dimension == SEVERITY else label
        if own is not None:
            yield own, result is not None and result.matched[number] is not None


def _rates(judge: str, tool: str, label: str, expected: int, matched: int, incorrect: int | None) -> LabelRates:
    said = matched + (incorrect or 0)
    precision = None if incorrect is None or not said else matched / said
    recall = matched / expected
    return LabelRates(
        judge=judge,
        reviewer=tool,
        label=label,
        expected=expected,
        matched=matched,
        incorrect=incorrect,
        precision=precision,
        recall=recall,
        f1=f_measure(precision, recall),
    )


def _lines(found: list[LabelRates], dimension: str) -> Iterator[str]:
    heads = [dimension, "reviewer", "expected", "matched", "incorrect", "precision", "recall", "F1"]
    judges: Mapping[str, None] = dict.fromkeys(one.judge for one in found)
    for judge in judges:
        yield f"judge {one_line(judge)}, rates in percent"
        own = sorted((one for one in found if one.judge == judge), key=lambda one: (one.label, one.reviewer))
        yield from format_table([heads, *map(_cells, own)])
        yield ""


def _cells(one: LabelRates) -> list[str]:
    incorrect = "-" if one.incorrect is None else str(one.incorrect)
    rates = (format_percent(rate) for rate in (one.precision, one.recall, one.f1))
    return [one_line(one.label), one_line(one.reviewer), str(one.expected), str(one.matched), incorrect, *rates]
