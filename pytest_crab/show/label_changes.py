"""The table of labels before and after: rates with intervals, what was lost and gained, and adjusted p."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.formats import NOTHING, format_change_interval, format_p, format_percent, format_points
from pytest_crab.results.gate_record import Gate
from pytest_crab.show.summary_tables import SummaryTable
from pytest_crab.statistics.labels import LabelComparison


def label_table(labels: Sequence[LabelComparison]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of labels before and after, its heads first."""
    yield "label", "oracles", "before %", "after %", "points", "interval", "lost", "gained", "p (Holm)", "over"
    for label in labels:
        own = label.comparison
        interval = own.interval
        yield (
            f"{label.dimension} {label.label}",
            f"{own.known}",
            format_percent(own.before),
            format_percent(own.after),
            format_points(own.difference),
            format_change_interval(interval),
            f"{len(own.lost)}",
            f"{len(own.gained)}",
            format_p(label.p_holm),
            NOTHING if interval is None else interval.basis,
        )


def change_tables(gate: Gate | None) -> Iterator[SummaryTable]:
    """Yield the same table for each comparison of a gate with a baseline."""
    for reviewer, labels in gate.labels.items() if gate is not None else ():
        (_, *names), *columns = zip(*label_table(labels), strict=True)
        who, _, anchor = reviewer.partition(" against ")
        head = f"{who} (anchor)" if anchor else who
        yield SummaryTable(f"{reviewer} by label, before and after", head, names, columns)
