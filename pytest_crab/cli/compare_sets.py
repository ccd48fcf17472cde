"""The compare-sets command: the rankings of reviewers by two sets, such as injected faults and comments of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.cli.shared_options import json_option
from pytest_crab.formats import format_count, format_table
from pytest_crab.results.loading import load_summary
from pytest_crab.results.recorded_results import Told
from pytest_crab.results.set_rankings import SetRankings, rank_sets
from pytest_crab.show.mediator_text import ranks_text
from pytest_crab.show.summary_tables import rate_with_interval
from pytest_crab.text import one_line


@click.command("compare-sets")
@click.argument("one", type=click.Path(exists=True, path_type=Path))
@click.argument("other", type=click.Path(exists=True, path_type=Path))
@click.option("--reviewer", "names", multiple=True, metavar="NAME", help="Rank these reviewers alone; repeatable.")
@json_option
def compare_sets(one: Path, other: Path, *, names: Sequence[str]) -> Told:
    """Say how far two sets rank reviewers alike.

    ONE and OTHER are runs of the same reviewers on different sets: a report's folder, a store, a summary.json or a
    trials.jsonl. Prints each reviewer's rate on either set, Kendall's tau-b of the two rankings with its 95% interval,
    and the pairs of reviewers that change places. Nothing is run, and no rate is over both sets.
    """
    found = rank_sets(load_summary(one), load_summary(other), names)
    return found, _lines(found)


def _lines(found: SetRankings) -> Iterator[str]:
    heads = [
        f"{name}: {'injected faults' if injected else 'not injected'}"
        for name, injected in zip(("ONE", "OTHER"), found.injected, strict=True)
    ]
    rows = [
        [
            one_line(own.reviewer, 60) + ("*" if own.privileged else ""),
            rate_with_interval(own.one),
            rate_with_interval(own.other),
        ]
        for own in found.reviewers
    ]
    yield from format_table([["reviewer", *heads], *rows])
    sizes = " and ".join(format_count(count, "pull request") for count in found.pull_requests)
    reviewers = format_count(len(found.reviewers), "reviewer")
    if found.ranks.tau is None:
        yield f"no rank agreement of {reviewers}: one set does not tell them apart"
    else:
        yield f"rank agreement of {reviewers}: tau-b {ranks_text(found.ranks)}, over {sizes}"
    for above, below in found.turned:
        yield f"{one_line(above, 60)} is above {one_line(below, 60)} on ONE, and below on OTHER"
    if any(own.privileged for own in found.reviewers):
        yield "* is shown the answer, so that it is at the top of any set; --reviewer leaves it out"
