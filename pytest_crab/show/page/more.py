"""The sections of the page that benchmarks add for items of their own kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.registry import offered
from pytest_crab.show.summary_tables import SummaryTable


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a section's list, which a reader opens."""

    title: str
    #: The text that it is about, shown as it is.
    text: str
    tables: Sequence[SummaryTable]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    #: The name of its place, for links.
    anchor: str
    title: str
    #: The sentences below the title, the first of them above the tables.
    lines: Sequence[str]
    tables: Sequence[SummaryTable]
    #: The heading above the list.
    listed: str
    entries: Sequence[Entry]


def more_sections(report: Path) -> list[Section]:
    """Return what benchmarks show of a report's folder, by their names. Raises BadInput."""
    found = (sections(report) for _, sections in offered(lambda one: one.page))
    return [section for section in found if section is not None]
