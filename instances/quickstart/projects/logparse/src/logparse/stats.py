"""Counting records. Nothing here keeps more than the counts in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from logparse.records import AccessRecord

Record = TypeVar("Record")
Key = TypeVar("Key", bound=Hashable)


def count_by(records: Iterable[Record], key: Callable[[Record], Key]) -> Counter[Key]:
    """How many records there are for each value of *key*."""
    return Counter(key(record) for record in records)


def top(records: Iterable[Record], key: Callable[[Record], Key], n: int = 10) -> list[tuple[Key, int]]:
    """The *n* most frequent values of *key* with their counts, the most frequent first."""
    return count_by(records, key).most_common(n)


def error_rate(records: Iterable[AccessRecord]) -> float | None:
    """The share of requests answered with a 5xx status, or None if there are none."""
    counts = count_by(records, lambda record: record.status >= 500)
    total = sum(counts.values())
    return counts[True] / total if total else None
