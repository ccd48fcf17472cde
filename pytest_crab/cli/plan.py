"""The plan command: how many pull requests and repeats a margin takes, and what they would cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.cli.shared_options import STORE, read_as
from pytest_crab.errors import BadInput
from pytest_crab.formats import (
    NOTHING,
    format_count,
    format_dollars,
    format_percent,
    format_table,
    format_whole_percent,
)
from pytest_crab.gate.planning import Choice, Measure, choices, measure_of, sizes_of
from pytest_crab.gate.references import repeated_run
from pytest_crab.instances import load_instances
from pytest_crab.option_types import POINTS, RATE, SHARE
from pytest_crab.results.loading import load_summary
from pytest_crab.statistics.power import POWER

#: The margins, repeats and, as multiples of the set, pull requests of the table where none are named.
_MARGINS, _REPEATS, _TIMES = (3.0, 5.0, 10.0, 15.0), (1, 3), (1, 2, 4)


@click.command()
@click.argument("run", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--set", "folder", type=click.Path(exists=True, path_type=Path), help="Plan for this set; nothing ran.")
@click.option("--reviewer", metavar="NAME", help="The reviewer of the run; needed where it has several.")
@click.option("--margin", "points", multiple=True, **read_as(POINTS), help="A margin of the table; repeatable.")
@click.option(
    "--pull-requests", "counts", multiple=True, type=click.IntRange(2), help="A number of pull requests; repeatable."
)
@click.option("--repeats", multiple=True, type=click.IntRange(1), help="A number of repeats; repeatable.")
@click.option("--oracles", type=click.IntRange(1), default=2, help="Oracles of each pull request, without run and set.")
@click.option("--rate", **read_as(RATE), help="The rate of caught oracles, as in 30%, in place of the run's.")
@click.option("--noise", **read_as(SHARE), help="The share of verdicts that change from run to run, as in 10%.")
def plan(
    run: Path | None,
    folder: Path | None,
    reviewer: str | None,
    points: Sequence[float],
    counts: Sequence[int],
    repeats: Sequence[int],
    oracles: int,
    rate: float | None,
    noise: float | None,
) -> None:
    """Say how many pull requests and repeats a gate needs for a margin.

    RUN is a summary.json or the folder of a report: its set, rate, noise and prices are taken. With --set a set is
    taken that nothing ran on, and with --pull-requests alone one that is only planned. Each row is a choice: how often
    an unchanged reviewer would be shown to be no worse at each margin, and which drop would be shown in 80% of runs.
    """
    if run is not None and folder is not None:
        raise click.UsageError("a run has its own set: leave out --set, or the run")
    try:
        name, measure = _measured(run, reviewer) if run is not None else _of_set(folder, oracles)
    except BadInput as error:
        raise click.UsageError(str(error)) from error
    measure = dataclasses.replace(
        measure,
        rate=measure.rate if rate is None else rate,
        noise=measure.noise if noise is None else noise,
        grounds=measure.grounds if noise is None else "--noise",
    )
    points = points or _MARGINS
    here = len(measure.sizes)
    wanted = counts or ([here * times for times in _TIMES] if run or folder else [20, 50, 100, 200])
    grounds = f" ({measure.grounds})" if measure.grounds else ", which is assumed"
    click.echo(
        f"{name}: {format_count(here, 'pull request')} with {format_count(sum(measure.sizes), 'oracle')}, "
        f"{format_percent(measure.rate)}% caught; {format_percent(measure.noise)}% of verdicts change from run to run"
        f"{grounds}"
    )
    found = list(choices(measure, points, wanted, repeats or _REPEATS))
    for line in format_table(_rows(found, points)):
        click.echo(line)
    click.echo("Percentages: how often an unchanged reviewer is shown to be no worse. Repeats are those of both runs.")
    click.echo(_advice(found, points[0]) if len(points) == 1 else _decided(found[0]))


def _rows(found: Sequence[Choice], margins: Sequence[float]) -> Iterator[tuple[str, ...]]:
    yield (
        "pull requests",
        "repeats",
        *(f"margin {margin:g}" for margin in margins),
        "margin in 80%",
        "shows a drop of",
        "USD a run",
    )
    for one in found:
        yield (
            f"{one.pull_requests}",
            f"{one.repeats}",
            *(format_whole_percent(one.passes[margin]) for margin in margins),
            NOTHING if one.margin is None else f"{one.margin:g}",
            format_percent(one.drop),
            format_dollars(one.usd),
        )


def _advice(found: Sequence[Choice], margin: float) -> str:
    """Return the cheapest choice of the table that decides the margin."""
    enough = [one for one in found if one.passes[margin] >= POWER]
    if not enough:
        return f"None of these decides a margin of {margin:g} points: try more with --pull-requests and --repeats."
    best = min(enough, key=lambda one: (one.pull_requests * one.repeats, one.pull_requests))
    size = f"{format_count(best.pull_requests, 'pull request')} with {format_count(best.repeats, 'repeat')}"
    return f"The smallest of these that decides a margin of {margin:g} points: {size}."


def _decided(first: Choice) -> str:
    if first.margin is None:
        return f"{format_count(first.pull_requests, 'pull request')} decide no margin."
    return f"{format_count(first.pull_requests, 'pull request')} decide a margin of {first.margin:g} points."


def _measured(run: Path, reviewer: str | None) -> tuple[str, Measure]:
    """Return the reviewer's name and what the run tells. Raises BadInput."""
    known = load_summary(run).contestants
    name = reviewer if reviewer is not None else next(iter(known), "")
    if name not in known or (reviewer is None and len(known) > 1):
        raise BadInput(str(run), [f"name one of its reviewers with --reviewer: {', '.join(known) or 'it has none'}"])
    measure = measure_of(known[name], repeated_run(STORE, known[name]))
    if measure is None:
        raise BadInput(str(run), [f"no oracle of {name} has a verdict"])
    return name, measure


def _of_set(folder: Path | None, oracles: int) -> tuple[str, Measure]:
    """Return the name of a set and its sizes; without a folder it is planned. Raises BadInput."""
    if folder is None:
        return "a planned set", Measure(sizes=(oracles,) * 20)
    sizes = sizes_of(load_instances(folder))
    if not sizes:
        raise BadInput(str(folder), ["it has no instance with an oracle"])
    return str(folder), Measure(sizes=sizes)
