"""BC-Bench's recorded runs: rates over all comments, and what the release says of single cases and of severities."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.benchmarks.bcbench.reader import RUNS, find, has_runs, names_of, read_judged
from pytest_crab.formats import format_decimal, format_percent, format_table
from pytest_crab.instances.archives import load, reading
from pytest_crab.results.judged_runs import JudgedSummary, summarise_judged
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.show.judged_text import judged_lines
from pytest_crab.statistics.shares import mean_of
from pytest_crab.text import one_line

_HEADS = ("reviewer", "known issues", "precision", "recall", "F1", "F0.5", "F2", "severity error", "valid output")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigures:
    """The figures of one reviewer as its runs record them, each a mean over the runs; None where one has none."""

    reviewer: str
    golden: str
    #: The mean precision over cases.
    macro_precision: float | None
    #: The mean recall over cases.
    macro_recall: float | None
    #: A mean over cases; the other two F are too.
    macro_f1: float | None
    macro_f_half: float | None
    macro_f2: float | None
    #: The mean distance, in levels, of a comment's severity from that of the issue that it matches.
    severity_error: float | None
    #: The share of reviews that could be read.
    valid_output: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRuns(JudgedSummary):
    """The numbers of a release."""

    #: A row for each reviewer whose runs record such figures.
    cases: tuple[CaseFigures, ...] = ()


def recorded(folder: Path) -> RecordedResults | None:
    """Return the numbers of a release's runs; None where the folder is none."""
    if not has_runs(folder):
        return None

    def report() -> Told:
        rates = summarise_judged(read_judged(folder))
        known = {field.name: getattr(rates, field.name) for field in dataclasses.fields(rates)}
        summary = RecordedRuns(**known, cases=tuple(read_cases(folder)))
        return summary, [*judged_lines(summary), *case_lines(summary.cases)]

    return RecordedResults(report=report)


def read_cases(folder: Path) -> Iterator[CaseFigures]:
    """Yield the figures of each reviewer, by its name and the version of the cases. Raises BadInput."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    with reading(folder):
        for run in load(find(folder, RUNS))["runs"]:
            groups.setdefault(names_of(run), []).append(run)
        for (reviewer, golden), runs in sorted(groups.items()):
            figures = CaseFigures(
                reviewer=reviewer,
                golden=golden,
                macro_precision=mean_of(run.get("macro_precision") for run in runs),
                macro_recall=mean_of(run.get("macro_recall") for run in runs),
                macro_f1=mean_of(run.get("macro_f1") for run in runs),
                macro_f_half=mean_of(run.get("macro_f_beta_05") for run in runs),
                macro_f2=mean_of(run.get("macro_f_beta_2") for run in runs),
                severity_error=mean_of(run.get("severity_mae") for run in runs),
                valid_output=mean_of(run.get("valid_review_output_rate") for run in runs),
            )
            if figures.macro_f1 is not None:
                yield figures


def case_lines(cases: tuple[CaseFigures, ...]) -> Iterator[str]:
    """Yield the table of these figures; nothing where there are none."""
    if cases:
        yield ""
        yield "means over cases in percent, the severity's error in levels, and the share of valid output, as recorded"
        yield from format_table([_HEADS, *map(_cells, cases)])


def _cells(one: CaseFigures) -> list[str]:
    means = (one.macro_precision, one.macro_recall, one.macro_f1, one.macro_f_half, one.macro_f2)
    rates = [format_percent(value) for value in means]
    error, valid = format_decimal(one.severity_error, 3), format_percent(one.valid_output)
    return [one_line(one.reviewer), one_line(one.golden), *rates, error, valid]
