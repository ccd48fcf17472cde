"""The page's section on rulers: what each says of each reviewer, how far they agree, and where they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_crab.formats import NOTHING, format_percent
from pytest_crab.instances.pull_requests import Subject
from pytest_crab.results.recorded_rulers import RecordedRuler
from pytest_crab.results.ruler_cells import Cell, cells_of, hit_rulers_of
from pytest_crab.results.rulers import RulerComparison, compare_cells
from pytest_crab.statistics.comparison import Key
from pytest_crab.text import one_line
from pytest_crab.types import Trial, TrialId

#: So many comments on which rulers differ are listed, and so many characters of each text.
LISTED, LONGEST = 500, 400

#: So many characters of a comment are shown on one line.
LINE = 120


@dataclass(frozen=True, slots=True)
class RulersSection:
    """The comparison of all rulers of a report, as the template shows it."""

    found: RulerComparison

    @property
    def reviewers(self) -> list[str]:
        """The reviewers in their order."""
        return list(dict.fromkeys(rate.reviewer for rate in self.found.rates))

    def rate(self, reviewer: str, ruler: str) -> str:
        """Return the mean of a reviewer's comments by a ruler, as 61.5% of 39."""
        own = next(rate for rate in self.found.rates if (rate.reviewer, rate.ruler) == (reviewer, ruler))
        return NOTHING if own.mean is None else f"{format_percent(own.mean)}% of {own.comments}"

    def version(self, ruler: str) -> str:
        """Return the version of a ruler on record; empty where none is."""
        known = self.found.recorded.get("oracles" if ruler == "tests" else ruler)
        return "" if known is None else " and ".join(known.versions)

    @property
    def cautions(self) -> Iterator[str]:
        """Yield how far each judge can be trusted."""
        yield from (f"{ruler.name}: {ruler.caution}" for ruler in self.found.recorded.values() if ruler.caution)

    @property
    def has_ranks(self) -> bool:
        """Return whether enough reviewers were ranked by two rulers."""
        return any(pair.ranks.tau is not None for pair in self.found.pairs)

    @property
    def shown_cells(self) -> tuple[Cell, ...]:
        """The comments on which rulers differ, as many as the page lists."""
        return self.found.differing[:LISTED]

    def trial(self, cell: Cell) -> str:
        """Return the name of a comment's trial."""
        return str(TrialId(cell.instance, cell.reviewer, cell.repeat))

    def verdict(self, cell: Cell, ruler: str) -> str:
        """Return what a ruler says of a comment: caught, missed, or unknown."""
        value = cell.values.get(ruler)
        return "unknown" if value is None else "caught" if value == 1 else "missed"

    def value(self, cell: Cell, ruler: str) -> str:
        """Return what a ruler says of a comment in words, with the number of the finding that it takes for the hit."""
        value = cell.values.get(ruler)
        if value is None:
            return NOTHING
        if ruler not in self.found.hit_rulers:
            return format_percent(value)
        at = cell.found.get(ruler)
        return "missed" if value != 1 else "hit" if at is None else f"hit, finding {at + 1}"


class RulersBuilder:
    """A section in the making: of texts only the first part is kept."""

    def __init__(self) -> None:
        self._cells: dict[TrialId, list[Cell]] = {}
        self._hit_rulers: dict[str, None] = {}
        self._texts: dict[str, dict[str, str]] = {}

    def note_subject(self, subject: Subject) -> None:
        """Take in what the comments of an instance say, before its first trial."""
        self._texts[subject.instance] = {comment.id: comment.body[:LONGEST] for comment in subject.comments}

    def text(self, key: Key) -> str:
        """Return the beginning of what a human comment says, on one line; empty where that is not on record."""
        return one_line(self._texts.get(key[0], {}).get(key[1], ""), LINE)

    def add(self, trial: Trial) -> None:
        """Take a trial in; a later record of the same one replaces it. Controls and other variants are left out."""
        if trial.review is None or trial.variant is not None:
            return
        self._hit_rulers.update(dict.fromkeys(hit_rulers_of(trial)))
        self._cells[trial.id] = list(map(_shortened, cells_of(trial, self._texts.get(trial.instance, {}))))

    @property
    def has_pair(self) -> bool:
        """Return whether two rulers measured one comment."""
        cells = (cell for own in self._cells.values() for cell in own)
        return any(sum(value is not None for value in cell.values.values()) > 1 for cell in cells)

    def section(self, recorded: Mapping[str, RecordedRuler]) -> RulersSection | None:
        """Return the section, with what is on record of the rulers; None where no two of them measured one comment."""
        if not self.has_pair:
            return None
        cells = [cell for own in self._cells.values() for cell in own]
        return RulersSection(compare_cells(cells, hit_rulers=list(self._hit_rulers), recorded=recorded))


def _shortened(cell: Cell) -> Cell:
    """Return a cell with what the page shows of the finding."""
    if cell.matched is None or len(cell.matched) <= LONGEST:
        return cell
    return dataclasses.replace(cell, matched=cell.matched[:LONGEST])
