"""The table of labels before and after: rates with intervals, what was lost and gained, and adjusted p."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from pytest_crab.statistics.labels import LabelComparison


def label_table(labels: Sequence[LabelComparison]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of labels before and after, its heads first."""
    yield "label", "oracles", "before %", "after %", "points", "interval", "over", "lost", "gained", "p (Holm)"
    for label in labels:
        own = label.comparison
        interval = own.interval
        yield (
            f"{label.dimension} {label.label}",
            f"{own.known}",
            _points(own.before),
            _points(own.after),
            "-" if own.difference is None else _format_signed(own.difference),
            "-" if interval is None else f"{_format_signed(interval.low)} to {_format_signed(interval.high)}",
            "-" if interval is None else interval.basis,
            f"{len(own.lost)}",
            f"{len(own.gained)}",
            f"{label.p_holm:.3f}",
        )


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _format_signed(share: float) -> str:
    return f"{100 * share:+.1f}"
