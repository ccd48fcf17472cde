"""Trials as flat rows, one per oracle: for oracles.csv and for data frames."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pytest_crab.results.files import write_report_file
from pytest_crab.results.model_usage import whole_sum
from pytest_crab.results.trial_rows import costs_of
from pytest_crab.types import Explanation, Trial, TrialId

T = TypeVar("T")

#: The file's name in a report's folder.
FILE = "oracles.csv"

#: What spreadsheets take for the start of a formula, which may start programs.
_FORMULA = frozenset("=+-@\t\r")

#: The columns, in this order; an empty cell is "not measured", and under the last ones "none".
COLUMNS = (
    "instance",
    "repo",
    "provenance",
    "reviewer",
    "agent",
    "runtime",
    "repeat",
    "comment",
    "category",
    "kind",
    "verdict",
    "reason",
    "explained",
    "found",
    "resolved_alone",
    "resolvable",
    "findings",
    "regressions",
    "cost_usd",
    "seconds",
    "variant",
    "privileged",
    "leaky",
    "simulated",
)


def oracle_rows(trials: Iterable[Trial]) -> Iterator[dict[str, Any]]:
    """Yield one row of COLUMNS per oracle and trial; what belongs to the trial (cost, seconds) stands in each.

    Of several records of one trial the last counts, as in a summary.
    """
    for rows in _of_latest(trials, lambda trial: list(_rows(trial))):
        for row in rows:
            yield dict(zip(COLUMNS, row, strict=True))


def write_csv(path: Path, trials: Iterable[Trial]) -> None:
    """Write oracles.csv (UTF-8, RFC 4180); a reader sees the old file or the whole new one. Raises OSError."""
    lines = _of_latest(trials, lambda trial: _lines(_rows(trial)))
    write_report_file(path, itertools.chain([_lines([COLUMNS])], lines))


def write_parquet(path: Path, trials: Iterable[Trial]) -> None:
    """Write the same rows as Parquet; what was not measured is null. Raises OSError, ImportError without pyarrow."""
    import pyarrow
    from pyarrow import parquet

    rows = list(oracle_rows(trials))
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    write_report_file(path, [buffer.getvalue()])


def _of_latest(trials: Iterable[Trial], value: Callable[[Trial], T]) -> Iterable[T]:
    """Return the value of the last record of each trial; no trial is kept."""
    found: dict[TrialId, T] = {}
    for trial in trials:
        found[trial.id] = value(trial)
    return found.values()


def _rows(trial: Trial) -> Iterator[tuple[Any, ...]]:
    """Yield the values of COLUMNS."""
    before = (
        trial.instance,
        trial.repo,
        trial.provenance.value,
        trial.reviewer,
        trial.agent,
        trial.runtime,
        trial.repeat,
    )
    after = (
        None if trial.review is None else trial.review.size,
        trial.regressions,
        whole_sum(costs_of(trial)),
        trial.seconds,
        trial.variant,
        ", ".join(trial.privileged) or None,
        ", ".join(trial.leaky) or None,
        trial.simulated,
    )
    for result in trial.results:
        yield (
            *before,
            result.comment,
            result.place.category,
            result.place.kind,
            result.verdict.value,
            result.reason.value,
            *_explained(trial.explanations.get(result.comment)),
            result.place.resolvable,
            *after,
        )


def _explained(one: Explanation | None) -> tuple[Any, ...]:
    return (None, None, None) if one is None else (one.outcome.value, one.found, one.alone)


def _cells(row: Iterable[Any]) -> list[Any]:
    """Return values that no spreadsheet takes for formulas."""
    return [f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value for value in row]


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    text = "".join(map(_line, map(_cells, rows)))
    return text.encode(errors="backslashreplace")  # JSON has half characters, UTF-8 has none


class _Same:
    """A file that gives back what is written, as ``writerow`` then does: a file for each trial would take longer."""

    write = staticmethod(str)


#: Returns one line of a CSV file.
_line = csv.writer(_Same).writerow
