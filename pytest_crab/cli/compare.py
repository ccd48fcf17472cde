"""The compare command: two earlier runs beside each other, oracle by oracle, and a gate on request."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pytest_crab import plain
from pytest_crab.benchmarks.ccrab import recording_at
from pytest_crab.errors import BadInput
from pytest_crab.gate.baseline import MARGIN
from pytest_crab.gate.baseline import Against
from pytest_crab.gate.baseline import rule_against
from pytest_crab.gate.comparable import CONDITIONS
from pytest_crab.gate.exit import RunOutcome
from pytest_crab.gate.exit import Tally
from pytest_crab.gate.exit import decide
from pytest_crab.gate.opposing import contestants
from pytest_crab.gate.opposing import counterpart
from pytest_crab.gate.opposing import opposing
from pytest_crab.report.loading import load_summary
from pytest_crab.report.recorded import measured_of
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.report.text import one_line
from pytest_crab.statistics.comparison import compare as compare_measured


@click.command()
@click.argument("before")
@click.argument("after")
@click.option(
    "--reviewer",
    "names",
    multiple=True,
    metavar="NAME[=NAME]",
    help="Compare this reviewer only; A=B compares A of the first run with B of the second.",
)
@click.option("--margin", type=click.FloatRange(0, 100), help="Gate: exit 0, 1, 8 or 9 as --crab-baseline does.")
@click.option("--max-broken", type=click.FloatRange(0, 1), default=0.05, show_default=True, help="The gate's limit.")
@click.option("--allow-difference", type=click.Choice(CONDITIONS), help="Compare though this one thing differs.")
@click.option("--part", is_flag=True, help="Oracles that AFTER lacks were left out on purpose; else they are unknown.")
@click.option(
    "--recorded",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="BEFORE and AFTER are tools of this set's, or of c-CRAB's release's, recorded verdicts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def compare(
    before: str,
    after: str,
    names: Sequence[str],
    margin: float | None,
    max_broken: float,
    allow_difference: str | None,
    recorded: Path | None,
    *,
    part: bool,
    as_json: bool,
) -> None:
    """Compare two earlier runs, running nothing.

    BEFORE and AFTER are a summary.json, a trials.jsonl, or the folder of a report or a store.
    """
    limit, gated = MARGIN if margin is None else margin, margin is not None
    try:
        if recorded is not None:
            against = [dataclasses.replace(_recorded(recorded, before, after, limit), gated=gated)]
            tallies: list[Tally] = [Tally(reviewer=after, caught=1, missed=0)]
        else:
            whole = gated and not part
            options = {"margin": limit, "allowed": allow_difference, "whole": whole, "gated": gated}
            against, tallies = _measured(Path(before), Path(after), names, options)
    except BadInput as error:
        raise click.UsageError(str(error)) from error  # 2, since 1 is a gate that failed
    if as_json:
        click.echo(json.dumps({one.reviewer: plain.dump(one) for one in against}, indent=1, allow_nan=False))
    elif margin is None:
        for one in against:
            click.echo(_visible(rule_against(one)[1]))
    if margin is None:
        return
    outcome = RunOutcome(
        status=0, only_trials_failed=True, max_broken=max_broken, tallies=tuple(tallies), against=tuple(against)
    )
    decision = decide(outcome)
    if not as_json:
        click.echo(_visible(decision.paragraph))
    sys.exit(decision.exit_code)


def _measured(
    before: Path, after: Path, names: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[Against], list[Tally]]:
    """Each reviewer of the second run against its counterpart; ``options`` are those of opposing. Raises BadInput."""
    first, second = load_summary(before), load_summary(after)
    pairs = list(_pairs(first, second, names))
    against = [opposing(first, was, second, now, path=before, **options) for was, now in pairs]
    return against, [Tally.of(now.reviewer, now.outcomes) for _, now in pairs]


def _pairs(
    first: Summary, second: Summary, names: Sequence[str]
) -> Iterator[tuple[ReviewerSummary | None, ReviewerSummary]]:
    """Yield the reviewers of the second run, each with its counterpart in the first. Raises BadInput."""
    before, after = contestants(first), contestants(second)
    for name in names:
        was, _, now = name.partition("=")
        now = now or was
        problems = [f"{what} has no reviewer {who}" for what, who, own in _asked(was, now, before, after) if not own]
        if problems:
            raise BadInput("--reviewer", problems)
        yield before[was], after[now]
    for name, own in after.items() if not names else ():
        other = counterpart(name, list(before), list(after))
        yield (None if other is None else before[other]), own
    if not after:
        raise BadInput("AFTER", ["it has no reviewer to compare"])


def _asked(
    was: str, now: str, before: dict[str, ReviewerSummary], after: dict[str, ReviewerSummary]
) -> Iterator[tuple[str, str, bool]]:
    yield "the first run", was, was in before
    yield "the second run", now, now in after


def _recorded(folder: Path, before: str, after: str, margin: float) -> Against:
    recording = recording_at(folder)
    for tool in (before, after):
        if tool not in recording.results:
            raise BadInput(str(folder), [f"there is no recorded tool {tool}; there are {', '.join(recording.results)}"])
    comparison = compare_measured(measured_of(recording, before), measured_of(recording, after))
    return Against(reviewer=after, baseline=before, margin=margin, comparison=comparison)


def _visible(paragraph: str) -> str:
    return one_line(paragraph, len(paragraph) + 1)
