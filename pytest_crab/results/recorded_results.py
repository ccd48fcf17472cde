"""Recorded results of reviews that were made elsewhere, as the benchmark that knows their folder offers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_names
from pytest_crab.registry import benchmarks, offered
from pytest_crab.scoring.stored_reviews import StoredReview
from pytest_crab.types import Trial

#: A record, to be printed as data, and its lines of text.
Told = tuple[Any, Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResults:
    """The recorded results of one folder; a part that it has not is None. Each part is read when called: BadInput."""

    #: The numbers of what is recorded.
    report: Callable[[], Told]
    #: How far verdicts of trials, which replayed what is recorded, are the recorded ones; empty data: none did.
    against: Callable[[Iterable[Trial]], Told] | None = None
    #: The reviews, and the version of the judges whose scores they hold.
    reviews: Callable[[], tuple[Iterable[StoredReview], str]] | None = None
    #: The verdicts as trials, for a comparison of two tools.
    trials: Callable[[], Iterable[Trial]] | None = None


def recorded_at(folder: Path) -> Iterator[RecordedResults]:
    """Yield what the installed benchmarks know of a folder, by the benchmarks' names. Raises BadInput."""
    for _, read in offered(lambda benchmark: benchmark.recorded):
        found: RecordedResults | None = read(folder)
        if found is not None:
            yield found


def require_recorded(folder: Path) -> list[RecordedResults]:
    """Return what the installed benchmarks know of a folder. Raises BadInput where none knows it."""
    found = list(recorded_at(folder))
    if not found:
        titles = [one.title for one in benchmarks().values() if one.recorded is not None]
        known = (
            f"benchmarks whose results can be read: {format_names(titles, 20)}" if titles else "no benchmark is here"
        )
        raise BadInput(str(folder), [f"it holds no recorded results ({known})"])
    return found
