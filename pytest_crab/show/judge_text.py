"""A judge's report as lines of text: the columns of table 4 of arXiv 2603.11078, with the counts behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.formats import format_count, format_decimal, format_percent, format_table
from pytest_crab.scoring.judges.judging import JudgeAgreement, JudgeReport
from pytest_crab.statistics.signal import Measure, Signal
from pytest_crab.text import one_line

#: So many reasons of unknown labels are printed.
_SHOWN = 3

_HEADS = ("recall", "precision", "F1", "usefulness", "SNR", "bugs hit", "findings that hit", "valid", "noise")


def judge_lines(found: JudgeReport, *, by_label: bool = False) -> Iterator[str]:
    """Yield the table of reviewers, why measures are undefined and labels unknown, and on request recall by label."""
    judged = [(one_line(one.reviewer, 60), one.signal) for one in found.reviewers]
    yield from _signals(found.judge, judged) if judged else _label_counts(found)
    for name, own in judged:
        for measure, value in zip(_HEADS, _measures(own), strict=False):
            if value.undefined is not None:
                yield f"  {name}: {measure} is undefined, {value.undefined}"
        if own.unknown_findings or own.unknown_bugs:
            findings, bugs = format_count(own.unknown_findings, "finding"), format_count(own.unknown_bugs, "comment")
            yield f"  {name}: not known of {findings} and {bugs}, which do not count"
    for reason, count in list(found.unknown.items())[:_SHOWN]:
        yield f"  {count} unknown: {one_line(reason, 200)}"
    if by_label:
        for name, own in judged:
            for dimension, labels in own.recall_by_label.items():
                shares = ", ".join(f"{one_line(label)} {hit} of {known}" for label, (hit, known) in labels.items())
                yield f"  {name}: recall by {one_line(dimension)}: {shares}"


def agreement_line(one: JudgeAgreement) -> str:
    """Return how far two judges agree."""
    first, second = map(one_line, one.judges)
    value = "" if one.kappa is None else f", kappa {one.kappa:.4f}"
    return f"{first} and {second}: the same label for {one.agreed:,} of {format_count(one.compared, 'case')}{value}"


def _signals(judge: str, judged: Sequence[tuple[str, Signal]]) -> Iterator[str]:
    yield f"{judge}, percent; SNR is signal to noise:"
    yield from format_table([("reviewer", *_HEADS), *((name, *_cells(own)) for name, own in judged)])


def _label_counts(found: JudgeReport) -> Iterator[str]:
    yield f"{found.judge}, findings by label:"
    rows = [(one_line(name, 60), *map(str, counts.values())) for name, counts in found.labels.items()]
    yield from format_table([("reviewer", *next(iter(found.labels.values()), ())), *rows])


def _measures(own: Signal) -> tuple[Measure, ...]:
    return own.recall, own.precision, own.f1, own.usefulness, own.snr


def _cells(own: Signal) -> Iterator[str]:
    yield from (format_percent(measure.value) for measure in (own.recall, own.precision, own.f1, own.usefulness))
    yield format_decimal(own.snr.value)
    yield f"{own.bugs_hit} of {own.bugs}"
    yield f"{own.hits} of {own.findings}"
    yield from (f"{own.valid}", f"{own.noise}")
