"""Consistency of printed results: the integer counts that must stand behind a table's rounded rates.

A rate printed as 35.75 of 1,505 comments is some k / 1505 that rounds to it. The columns of a row share such counts:
recall and precision share their hits, and a whole is the sum of its parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from pytest_crab.statistics.matching import largest_matching

#: The largest number of comments that is tried where a table does not print it.
MOST_COMMENTS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingInterval:
    """All values that are printed as one number; both ends belong to it."""

    low: Fraction
    high: Fraction

    @classmethod
    def of_printed(cls, text: str, *, percent: bool = True) -> RoundingInterval:
        """Return the values that round to ``text``, a number with as many decimals as count."""
        value = Fraction(text)
        half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
        scale = 100 if percent else 1
        return cls(low=max(Fraction(0), value - half) / scale, high=(value + half) / scale)

    def __contains__(self, value: Fraction) -> bool:
        return self.low <= value <= self.high

    def counts(self, total: int) -> range:
        """Return the whole numbers k with k / ``total`` inside."""
        return range(math.ceil(self.low * total), math.floor(self.high * total) + 1)

    def totals(self, count: int, most: int) -> range:
        """Return the whole numbers n up to ``most`` with ``count`` / n inside."""
        first = math.ceil(count / self.high) if self.high else most + 1
        last = math.floor(count / self.low) if self.low else most
        return range(max(1, first), min(most, last) + 1)

    def overlap(self, other: RoundingInterval) -> RoundingInterval:
        """Return the values of both; ``low`` is above ``high`` where there is none."""
        return RoundingInterval(low=max(self.low, other.low), high=min(self.high, other.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedRow:
    """One printed row. Rates are percent as printed; None where the table has no such column."""

    name: str
    group: str = ""
    #: hits / gold comments.
    recall: str | None = None
    #: hits / comments of the review.
    precision: str | None = None
    f1: str | None = None
    #: Useful comments / comments.
    usefulness: str | None = None
    #: Useful comments / the others, a plain ratio.
    snr: str | None = None
    hits: int | None = None
    comments: int | None = None
    #: The recall in each part of the gold comments.
    parts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("recall", "precision", "f1", "usefulness", "snr"):
            _require_number(name, getattr(self, name))
        for part, text in self.parts.items():
            _require_number(f"parts.{part}", text)

    @property
    def label(self) -> str:
        """The group and the name."""
        return f"{self.group} / {self.name}" if self.group else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """The printed rows of one table."""

    title: str
    #: The number of gold comments.
    gold: int
    rows: tuple[PrintedRow, ...]
    #: Gold comments in each part.
    parts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if min([self.gold, *self.parts.values()]) < 1:
            raise ValueError("gold and each of parts should be a number of comments from 1")
        if self.parts and sum(self.parts.values()) != self.gold:
            raise ValueError(f"parts add up to {sum(self.parts.values())}, and gold is {self.gold}")
        for row in self.rows:
            if row.parts and set(row.parts) != set(self.parts):
                raise ValueError(f"the row {row.label} should have the parts {', '.join(self.parts) or '(none)'}")


def _require_number(name: str, text: str | None) -> None:
    if text is not None and not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise ValueError(f"{name} is {text!r}; it should be a number as it is printed, such as 35.75")


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """One fault of a table."""

    #: The row or group that has it.
    where: str
    #: One sentence on it.
    sentence: str


def audit(table: PrintedTable) -> tuple[Inconsistency, ...]:
    """Return every fault of a table, row by row; then the groups whose labels were permuted between two columns."""
    rows = [Inconsistency(row.label, sentence) for row in table.rows for sentence in _row_faults(table, row)]
    groups = list(dict.fromkeys(row.group for row in table.rows))
    swapped = ((group, _permutation(table, [row for row in table.rows if row.group == group])) for group in groups)
    return (*rows, *(Inconsistency(group or table.title, sentence) for group, sentence in swapped if sentence))


def _row_faults(table: PrintedTable, row: PrintedRow) -> Iterator[str]:
    rates = {"recall": (row.recall, table.gold)}
    rates |= {f"recall in {part}": (text, table.parts[part]) for part, text in row.parts.items()}
    for name, (text, total) in rates.items():
        if text is not None and not RoundingInterval.of_printed(text).counts(total):
            yield f"{name} is {text}%, and no whole number of {total} gives that"
    if row.recall is not None and not _parts_fit(table, row, row.recall):
        yield f"the parts give {_part_sum(table, row)} of {table.gold}, and recall is {row.recall}%"
    yield from _hits_faults(table, row)
    derived = list(_derived_faults(row))
    yield from derived
    if not derived:
        yield from _shared_counts(table, row)


def _part_counts(table: PrintedTable, row: PrintedRow) -> tuple[int, int]:
    counts = [RoundingInterval.of_printed(text).counts(table.parts[part]) for part, text in row.parts.items()]
    return sum(each.start for each in counts), sum(each.stop - 1 for each in counts)


def _part_sum(table: PrintedTable, row: PrintedRow) -> str:
    low, high = _part_counts(table, row)
    rate = f"{100 * low / table.gold:.2f}%"
    return f"{low} ({rate})" if low >= high else f"{low} to {high} ({rate} and more)"


def _parts_fit(table: PrintedTable, row: PrintedRow, recall: str) -> bool:
    """Return whether the parts can add up to this recall; True where the row has no parts."""
    if not row.parts:
        return True
    low, high = _part_counts(table, row)
    whole = RoundingInterval.of_printed(recall).counts(table.gold)
    return bool(whole) and low < whole.stop and whole.start <= high


def _hits_faults(table: PrintedTable, row: PrintedRow) -> Iterator[str]:
    """Check printed hits against one rate or number; recall and precision together are for ``_shared_counts``."""
    if row.hits is None:
        return
    for whole, count in (("gold", table.gold), ("review", row.comments)):
        if count is not None and row.hits > count:
            yield f"hits are {row.hits}, and there are {count} {whole} comments"
    if row.recall is not None and row.precision is None:
        fitting = RoundingInterval.of_printed(row.recall).counts(table.gold)
        if fitting and row.hits not in fitting:
            yield f"hits are {row.hits}, and recall {row.recall}% of {table.gold} needs {_span(fitting)}"
    if row.precision is not None and row.recall is None and row.comments is not None:
        fitting = RoundingInterval.of_printed(row.precision).counts(row.comments)
        if row.hits not in fitting:
            needed = f"needs {_span(fitting)}" if fitting else "is no whole number"
            yield f"hits are {row.hits}, and precision {row.precision}% of {row.comments} {needed}"


def _span(counts: range) -> str:
    return str(counts.start) if len(counts) == 1 else f"{counts.start} to {counts.stop - 1}"


def _derived_faults(row: PrintedRow) -> Iterator[str]:
    """Check the columns that follow from two others by themselves."""
    if row.f1 is not None and row.recall is not None and row.precision is not None:
        recall, precision = RoundingInterval.of_printed(row.recall), RoundingInterval.of_printed(row.precision)
        f1 = RoundingInterval(low=_harmonic(recall.low, precision.low), high=_harmonic(recall.high, precision.high))
        if _disjoint(f1, RoundingInterval.of_printed(row.f1)):
            yield f"F1 is {row.f1}%, and recall {row.recall}% with precision {row.precision}% gives {_percent(f1)}"
    if row.snr is not None and row.usefulness is not None:
        useful = RoundingInterval.of_printed(row.usefulness)
        if useful.high < 1:
            ratio = RoundingInterval(low=useful.low / (1 - useful.low), high=useful.high / (1 - useful.high))
            if _disjoint(ratio, RoundingInterval.of_printed(row.snr, percent=False)):
                between = f"{float(ratio.low):.2f} to {float(ratio.high):.2f}"
                yield f"the signal-to-noise ratio is {row.snr}, and usefulness {row.usefulness}% gives {between}"


def _disjoint(one: RoundingInterval, other: RoundingInterval) -> bool:
    both = one.overlap(other)
    return both.low > both.high


def _harmonic(one: Fraction, other: Fraction) -> Fraction:
    return 2 * one * other / (one + other) if one + other else Fraction(0)


def _percent(interval: RoundingInterval) -> str:
    return f"{100 * float(interval.low):.2f} to {100 * float(interval.high):.2f}%"


def _shared_counts(table: PrintedTable, row: PrintedRow) -> Iterator[str]:
    """Look for one number of hits and one of comments behind all rates of a row, else for two numbers of hits."""
    if row.recall is None or row.precision is None:
        return
    hits = RoundingInterval.of_printed(row.recall).counts(table.gold)
    if not hits or any(_one_count(table, row, count) for count in hits):
        return
    found = next(filter(None, (_two_counts(table, row, count) for count in hits)), None)
    if found is None:
        yield f"no counts up to {MOST_COMMENTS} comments give its rates together"
    else:
        other, comments = found
        yield (
            f"no one number of hits gives its rates together: recall has {hits.start} of {table.gold}, and precision "
            f"for instance {other} of {comments} comments"
        )


def _one_count(table: PrintedTable, row: PrintedRow, hits: int) -> bool:
    assert row.precision is not None
    if row.hits not in {None, hits}:
        return False
    precise, useful = _hit_intervals(table, row, hits)
    comments = range(1, MOST_COMMENTS + 1) if row.comments is None else range(row.comments, row.comments + 1)
    totals = RoundingInterval.of_printed(row.precision).totals(hits, comments.stop - 1)
    return any(
        total in comments and Fraction(hits, total) in precise and _useful_counts(useful, hits, total)
        for total in totals
    )


def _two_counts(table: PrintedTable, row: PrintedRow, gold_hits: int) -> tuple[int, int] | None:
    """Return hits among the comments and the comments, where hits among the gold comments are another number."""
    precise, useful = _hit_intervals(table, row, gold_hits)
    if precise.low > precise.high or useful.low > useful.high:
        return None
    totals = range(1, MOST_COMMENTS + 1) if row.comments is None else [row.comments]
    pairs = ((hits, total) for total in totals for hits in precise.counts(total))
    return next((pair for pair in pairs if _useful_counts(useful, *pair)), None)


def _hit_intervals(table: PrintedTable, row: PrintedRow, gold_hits: int) -> tuple[RoundingInterval, RoundingInterval]:
    """Return the precision that fits F1 too, and the share of useful comments that fits the signal-to-noise ratio."""
    assert row.precision is not None
    precision, useful = RoundingInterval.of_printed(row.precision), RoundingInterval(low=Fraction(0), high=Fraction(1))
    if row.f1 is not None:
        recall = Fraction(gold_hits, table.gold)
        precision = precision.overlap(_precision_for(RoundingInterval.of_printed(row.f1), recall))
    if row.usefulness is not None:
        useful = RoundingInterval.of_printed(row.usefulness)
    if row.snr is not None:
        snr = RoundingInterval.of_printed(row.snr, percent=False)
        useful = useful.overlap(RoundingInterval(low=snr.low / (1 + snr.low), high=snr.high / (1 + snr.high)))
    return precision, useful


def _precision_for(f1: RoundingInterval, recall: Fraction) -> RoundingInterval:
    """Return the precision that gives this F1 with this recall; ``low`` is above ``high`` where none does."""
    if not recall:  # then F1 is 0 with any precision
        return RoundingInterval(low=Fraction(2 if f1.low else 0), high=Fraction(1))
    low, high = (f * recall / (2 * recall - f) if f < 2 * recall else Fraction(1) for f in (f1.low, f1.high))
    return RoundingInterval(low=low, high=high)


def _useful_counts(useful: RoundingInterval, hits: int, comments: int) -> bool:
    counts = useful.counts(comments)
    return bool(counts) and counts.stop - 1 >= hits


def _permutation(table: PrintedTable, rows: Sequence[PrintedRow]) -> str | None:
    """Return the sentence on labels that were permuted between the parts and the recall of these rows."""
    wrong = [row for row in rows if row.recall is not None and not _parts_fit(table, row, row.recall)]
    fits = {row.name: [other.name for other in wrong if _parts_fit(table, row, other.recall or "")] for row in wrong}
    matched = largest_matching(fits)
    if len(wrong) < 2 or len(matched) < len(wrong):
        return None
    pairs = ", ".join(f"those of {name} give the recall of {other}" for name, other in matched.items())
    return f"the labels of its rows are permuted between the parts and the recall: {pairs}"
