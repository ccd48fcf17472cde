"""The command that runs SWE-bench's rows and says of how many the tests are as the data states."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from pytest_crab.benchmarks.swebench.names import Likeness
from pytest_crab.benchmarks.swebench.rows import STEP, Outcome, RowRecord, RowWithTests, key_of, read_rows, see
from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.cli.shared_options import choose_runtime, json_option, runtime_option, store_option
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_table
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.results.recorded_results import Told
from pytest_crab.runtimes import handed_on
from pytest_crab.serialization import dump, read
from pytest_crab.side_by_side import side_by_side
from pytest_crab.trial import Crew, RunContext


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--only", multiple=True, metavar="ID|REPO", help="Run this row, or those of this repository; repeatable.")
@runtime_option("What runs the tests.")
@store_option("The folder in which sources and records are kept.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Rows at a time.")
@click.option(
    "--minutes",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Begin no other environment for a row after this time.",
)
@json_option
def rows(file: Path, *, only: tuple[str, ...], runtime: str, store: Path, jobs: int, minutes: int) -> Told:
    """Run the tests that FILE's rows name, with and without the fix, and count the rows whose tests are as stated.

    FILE is JSON lines of SWE-bench or SWE-bench Multilingual. An environment is found for each row, and removed after
    it. A row that is in the store is not run again. Runs the projects' own build code, in a sandbox that has the
    network.
    """
    wanted = [row for row in read_rows(file) if not only or {row.instance_id, row.repo} & {*only}]
    if not wanted:
        raise BadInput(str(file), ["it has no row with these names; leave out --only, or name others"])
    place = dataclasses.replace(choose_runtime(runtime), oracle_limits=CLIENT_LIMITS, hands_on_caches=True)
    with proving_context(place, store) as (crew, run_context):
        likely: dict[str, str | None] = {}
        work = {
            row.instance_id: functools.partial(_record, row, crew, run_context, 60 * minutes, likely) for row in wanted
        }
        records = {}
        try:
            with side_by_side(jobs, run_context.stop) as pool, as_they_end(pool, work, "rows") as ended:
                for name, record in ended:
                    records[name] = record
                    click.echo(_line(record), err=True)
        finally:
            handed_on.clear(run_context.cache)
    found = [records[row.instance_id] for row in wanted]
    return found, list(_lines(found))


def _record(
    row: RowWithTests,
    crew: Crew,
    run_context: RunContext,
    seconds: float,
    likely: dict[str, str | None],
    notice: Callable[[str], None],
) -> RowRecord:
    """Return the record of a row, from the store where it is there. One that more time may change is not kept.

    ``likely`` has the version of the environment in which the last row of each repository agreed.
    """
    key = key_of(row, run_context)
    known = run_context.store.get(STEP, key)
    record = read(RowRecord, known, []) if known is not None else None
    if record is None:
        record = see(row, crew, run_context, notice, seconds=seconds, likely=likely.get(row.repo))
        if record.is_final:
            run_context.store.put(STEP, key, dump(record))
    if record.outcome is Outcome.AGREES and record.environment is not None:
        likely[row.repo] = record.environment.version
    return record


def _line(record: RowRecord) -> str:
    return (
        f"{record.id}: {record.outcome.value} ({record.seconds:.0f} s){f', {record.detail}' if record.detail else ''}"
    )


def _lines(records: Sequence[RowRecord]) -> Iterator[str]:
    """Yield the table by language, and how names were found."""
    shown = [outcome for outcome in Outcome if any(record.outcome is outcome for record in records)]
    table = [("language", "rows", *(outcome.value for outcome in shown))]
    languages = sorted({record.language for record in records})
    table += [_cells(each, [record for record in records if record.language == each], shown) for each in languages]
    if len(languages) > 1:
        table.append(_cells("all", records, shown))
    yield from format_table(table)
    ways = Counter[Likeness]()
    for record in records:
        ways.update(record.found)
    absent = sum(len(record.absent) for record in records)
    told = [f"{ways[way]} {way.value}" for way in Likeness]
    yield f"Names of tests: {', '.join(told)}, {absent} not here."


def _cells(name: str, records: Sequence[RowRecord], shown: Sequence[Outcome]) -> tuple[str, ...]:
    counts = Counter(record.outcome for record in records)
    return (name, str(len(records)), *(str(counts[outcome]) for outcome in shown))
