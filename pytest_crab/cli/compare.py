"""The compare command: two earlier runs beside each other, oracle by oracle, and a gate on request."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from pytest_crab.cli.shared_options import STORE, json_flag, print_json, run_options
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_table
from pytest_crab.gate.baseline import BaselineComparison, rule_on_baselines
from pytest_crab.gate.compared_runs import ComparedRuns, compare_runs
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide
from pytest_crab.gate.pairing import pair
from pytest_crab.gate.resolved import RATE
from pytest_crab.gate.terms import GateTerms
from pytest_crab.gate.wording import baseline_words, changed_line
from pytest_crab.option_table import Options
from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.loading import last_comparable
from pytest_crab.results.recorded_results import require_recorded
from pytest_crab.results.summary import summarise
from pytest_crab.show.label_changes import label_table
from pytest_crab.show.page.comparison import ComparedReviewer, write_comparison
from pytest_crab.text import one_line

#: How many lost and gained oracles are named without -v.
_NAMED = 2


@click.command()
@click.argument("before", required=False)
@click.argument("after", required=False)
@click.option(
    "--reviewer",
    "names",
    multiple=True,
    metavar="NAME[=NAME]",
    help="Compare this reviewer only; A=B compares A of the first run with B of the second.",
)
@run_options("compare")
@click.option(
    "--pool", multiple=True, type=click.Path(exists=True, path_type=Path), help="Pool this run with BEFORE; repeatable."
)
@click.option("--part", is_flag=True, help="Leave out oracles that AFTER lacks; without it they count as unknown.")
@click.option(
    "--recorded",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Compare recorded verdicts: BEFORE and AFTER name tools of this set, or of a benchmark's release.",
)
@click.option("-v", "--verbose", is_flag=True, help="Say all that is known of each comparison.")
@json_flag
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write a page: rates, labels, and each lost or gained oracle with the revisions of both runs.",
)
def compare(
    before: str | None,
    after: str | None,
    names: Sequence[str],
    options: Options,
    pool: Sequence[Path],
    recorded: Path | None,
    page: Path | None,
    *,
    part: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compare two earlier runs, running nothing.

    BEFORE and AFTER are a summary.json, a trials.jsonl, or the folder of a report or a store. Without them the last two
    whole runs in .crab that measured the same oracles are compared. With --margin they are gated: the exit status is 0,
    1, 8 or 9, as with --crab-baseline.
    """
    anchor = None if options.anchor is None else Path(options.anchor)
    if (before is None) != (after is None) or (before is None and recorded is not None):
        raise click.UsageError("name BEFORE and AFTER; without both, the last two runs in .crab are compared")
    if recorded is not None and (page, anchor, *pool) != (None, None):
        raise click.UsageError("--html, --pool and --anchor are for runs, and --recorded names tools; leave it out")
    terms = dataclasses.replace(options.terms, gated=bool(options.margin))
    if recorded is not None and terms.on != RATE:
        raise click.UsageError("--on=resolved is for runs, whose verdicts are explained; leave out --recorded")
    try:
        if before is None or after is None:
            before, after = map(str, last_comparable(STORE))
            click.echo(f"comparing {before} with {after}", err=True)
        if recorded is not None:
            against, counts, pairs = _compare_recorded(recorded, before, after, terms)
        else:
            against, counts, pairs = compare_runs(
                [Path(before), *pool], Path(after), terms, names=names, anchor=anchor, part=part
            )
    except BadInput as error:
        raise click.UsageError(str(error)) from error  # 2, since 1 is a gate that failed
    outcome = RunOutcome(
        terms=terms,
        status=0,
        only_trials_failed=True,
        max_unknown_option="--max-unknown",
        counts=tuple(counts),
        baselines=tuple(against),
    )
    gate = decide(outcome) if terms.gated else None
    words = [baseline_words(*pair) for pair in zip(against, rule_on_baselines(against), strict=True)]
    if page is not None:
        compared = [
            ComparedReviewer(
                beside=one,
                words=said,
                runs=(anchor,) if one.anchored and anchor is not None else (Path(before), *pool),
                before=was,
                after=now,
            )
            for one, said, (was, now) in zip(against, words, pairs, strict=True)
        ]
        _write_page(page, Path(after), compared, gate)
    if as_json:
        print_json({one.name: one for one in against})
    else:
        look = "" if recorded is not None else f"Look next: pytest-crab compare {before} {after} --html FILE"
        shown = look if page is None else f"page: {page}"
        _print_comparisons(against, words, gate, shown=shown, verbose=verbose, account=terms.account)
    if gate is not None:
        sys.exit(gate.exit_code)


def _print_comparisons(
    against: Sequence[BaselineComparison],
    words: Sequence[GateRuling],
    gate: Gate | None,
    *,
    shown: str,
    verbose: bool,
    account: str,
) -> None:
    """Print each comparison, or what the gate says of each reviewer, the verdict first and the exit status last.

    ``shown`` says where lost and gained oracles can be seen; empty: nowhere.
    """
    for ruling in words if gate is None else gate.rulings:
        first, *lines = ruling.lines
        click.echo(_visible(first))
        for line in [*lines, *(ruling.details if verbose else ())]:
            click.echo(f"  {_visible(line)}")
    found = [one.comparison for one in against if one.comparison is not None and one.problem is None]
    changed = [comparison for comparison in found if comparison.lost or comparison.gained]
    for comparison in () if verbose else changed:
        click.echo(_visible(changed_line(comparison, _NAMED)))
    if changed and shown:
        click.echo(shown)
    if account:
        click.echo(account)
    for one in against if verbose else ():
        if one.labels and one.problem is None:
            click.echo("")
            for line in format_table(label_table(one.labels)):
                click.echo(line)
    if gate is not None:
        click.echo(gate.sentence)


def _write_page(page: Path, after: Path, compared: Sequence[ComparedReviewer], gate: Gate | None) -> None:
    """Write the page of the comparison. Raises ClickException."""
    try:
        write_comparison(page, after, compared, None if gate is None else gate.sentence)
    except OSError as error:
        raise click.ClickException(f"{page} cannot be written: {error.strerror}") from error


def _compare_recorded(folder: Path, before: str, after: str, terms: GateTerms) -> ComparedRuns:
    """Compare two tools of a set's recorded verdicts. Raises BadInput."""
    trials = next((one.trials for one in require_recorded(folder) if one.trials is not None), None)
    if trials is None:
        raise BadInput(str(folder), ["it holds judgements only, and no verdicts of oracles to compare"])
    summary = summarise(trials())
    tools = {own.reviewer: own for own in summary.reviewers}
    for tool in (before, after):
        if tool not in tools:
            raise BadInput(str(folder), [f"there is no recorded tool {tool}; there are {', '.join(tools)}"])
    found = pair(summary, tools[before], summary, tools[after], name=before, terms=terms)
    found = dataclasses.replace(found, baseline=before)
    return ComparedRuns([found], [OracleCounts.of(tools[after])], [(before, after)])


def _visible(paragraph: str) -> str:
    return one_line(paragraph, len(paragraph) + 1)
