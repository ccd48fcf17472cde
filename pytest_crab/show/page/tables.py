"""The layout of the page's tables: as many columns as fit beside each other, so that no word or number is broken."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from pytest_crab.formats import NOTHING
from pytest_crab.show.summary_tables import SummaryTable

#: So many characters fit into a line of a table at the page's full width, so many of a cell are not wrapped, and so
#: many are taken by what lies between two columns.
ROOM, UNWRAPPED, BETWEEN = 116, 14, 3

#: The first characters of a cell that is a number.
_DIGITS = frozenset("0123456789+-?.")


def fit(table: SummaryTable) -> list[SummaryTable]:
    """Return a table as one, or as several below each other where its columns do not fit side by side."""
    room = ROOM - min(45, max(map(len, (table.head, *table.names)), default=0))
    blocks: list[list[Sequence[str]]] = [[]]
    left = room
    for column in table.columns:
        width = BETWEEN + max(min(UNWRAPPED, max(map(len, column[1:]), default=0)), *map(_longest_word, column))
        if width > left and blocks[-1]:
            blocks.append([])
            left = room
        left -= width
        blocks[-1].append(column)
    titles = [table.title, *(f"{table.title}, part {number}" for number in range(2, len(blocks) + 1))]
    return [
        SummaryTable(title, table.head, table.names, columns) for title, columns in zip(titles, blocks, strict=True)
    ]


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def is_words(column: Sequence[str]) -> bool:
    """Return True if a column, below its head, holds words and no number; a dash is neither."""
    cells = [cell for cell in column[1:] if cell and cell != NOTHING]
    return bool(cells) and all(cell[0] not in _DIGITS for cell in cells)


def address_of(trial: str, comment: str) -> str:
    """Return where the page shows a comment in its trial."""
    return f"#t={quote(trial, safe='')}&c={quote(comment, safe='')}"
