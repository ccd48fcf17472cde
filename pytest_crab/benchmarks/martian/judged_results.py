"""The numbers of recorded judgements: precision, recall, F and false alarms by reviewer, and how far judges agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_crab.benchmarks.martian.judged import JudgedRelease, JudgedRun
from pytest_crab.formats import NOTHING, format_percent, format_table
from pytest_crab.results.judging import JudgeAgreement, judge_agreements
from pytest_crab.show.judge_text import agreement_line
from pytest_crab.statistics.signal import f_measure
from pytest_crab.text import one_line

#: A known issue under one reviewer: reviewer, pull request, number.
_Cell = tuple[str, str, int]
_HEADS = (
    "reviewer", "known issues", "runs", "expected", "matched", "incorrect", "neutral", "precision", "recall", "F1",
    "F0.5", "F2", "false alarms",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRates:
    """The rates of one reviewer under one judge, each a mean over its ``runs``; None where nothing can be divided.

    ``precision`` is matched / (matched + incorrect), so that ``neutral`` comments count neither way; ``recall`` is
    matched / expected. ``golden`` names the version of the known issues. ``false_alarms`` is the share of clean pull
    requests on which the reviewer commented.
    """

    reviewer: str
    judge: str
    golden: str
    runs: int
    expected: float
    matched: float
    incorrect: float
    neutral: float
    precision: float | None
    recall: float | None
    f1: float | None
    f_half: float | None
    f2: float | None
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSummary:
    """The numbers of a release; ``union`` has by judge how many known issues any reviewer found.

    ``notes`` say which runs counted other known issues.
    """

    benchmark: str
    golden: str
    rates: tuple[JudgedRates, ...]
    union: dict[str, int]
    agreements: tuple[JudgeAgreement, ...]
    notes: tuple[str, ...] = ()


def summarise_judged(release: JudgedRelease) -> JudgedSummary:
    """Sum up the runs of a release, repeats of one reviewer under one judge together."""
    groups: dict[tuple[str, str, str], list[JudgedRun]] = {}
    for run in release.runs:
        groups.setdefault((run.judge, run.reviewer, run.golden), []).append(run)
    judges = sorted({run.judge for run in release.runs})
    found: dict[str, dict[_Cell, bool]] = {judge: {} for judge in judges}
    for run in release.runs:
        found[run.judge].update(((run.reviewer, *key), hit) for key, hit in run.found.items())
    return JudgedSummary(
        benchmark=release.benchmark,
        golden=release.golden,
        rates=tuple(_rates(runs) for _, runs in sorted(groups.items())),
        union={judge: len({key[1:] for key, hit in cells.items() if hit}) for judge, cells in found.items() if cells},
        agreements=tuple(judge_agreements(found)),
        notes=release.notes,
    )


def judged_lines(summary: JudgedSummary) -> Iterator[str]:
    """Yield the tables as text, names escaped."""
    yield one_line(f"{summary.benchmark}: recorded judgements; its file has {summary.golden}; nothing was run")
    yield from map(one_line, summary.notes)
    for judge in sorted({rates.judge for rates in summary.rates}):
        yield ""
        yield f"judge {one_line(judge)}, rates in percent"
        rows = [rates for rates in summary.rates if rates.judge == judge]
        own = 0 if {rates.golden for rates in rows} == {summary.golden} else 1
        yield from format_table([[*row[:1], *row[2 - own :]] for row in (_HEADS, *map(_cells, rows))])
        if judge in summary.union:
            yield f"found by any reviewer: {summary.union[judge]}"
    for one in summary.agreements:
        yield ""
        yield f"{agreement_line(one)}, each a known issue under one reviewer"


def _cells(rates: JudgedRates) -> list[str]:
    counts = [f"{value:g}" for value in (rates.expected, rates.matched, rates.incorrect, rates.neutral)]
    shares = (rates.precision, rates.recall, rates.f1, rates.f_half, rates.f2, rates.false_alarms)
    return [rates.reviewer, rates.golden, str(rates.runs), *counts, *(_percent(share) for share in shares)]


def _percent(share: float | None) -> str:
    return NOTHING if share is None else format_percent(share)


def _rates(runs: Sequence[JudgedRun]) -> JudgedRates:
    each = [_precision_recall(run) for run in runs]
    return JudgedRates(
        reviewer=runs[0].reviewer,
        judge=runs[0].judge,
        golden=runs[0].golden,
        runs=len(runs),
        expected=fmean(run.expected for run in runs),
        matched=fmean(run.matched for run in runs),
        incorrect=fmean(run.incorrect for run in runs),
        neutral=fmean(run.neutral for run in runs),
        precision=_mean([precision for precision, _ in each]),
        recall=_mean([recall for _, recall in each]),
        f1=_mean([f_measure(*pair) for pair in each]),
        f_half=_mean([f_measure(*pair, beta=0.5) for pair in each]),
        f2=_mean([f_measure(*pair, beta=2) for pair in each]),
        false_alarms=_mean([run.alarmed / run.clean if run.clean else None for run in runs]),
    )


def _precision_recall(run: JudgedRun) -> tuple[float | None, float | None]:
    said = run.matched + run.incorrect
    return run.matched / said if said else None, run.matched / run.expected if run.expected else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
