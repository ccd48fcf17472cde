"""A terminal as small as the attacks on it need: what is shown after texts with controls were written to it."""

from __future__ import annotations

import re

_STEP = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|.", re.DOTALL)


class Screen:
    """Rows of cells; it moves, clears, rings and turns text around as ECMA-48 and Unicode say."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], str] = {}
        self.row = self.column = self.bells = 0
        self.backwards = False

    def feed(self, text: str) -> None:
        for found in _STEP.finditer(text):
            if found[2]:
                self._control(found[2], [int(number or 0) for number in found[1].split(";")])
            else:
                self._letter(found[0])

    def shown(self) -> str:
        """The rows as they are read."""
        last = max((row for row, _ in self.rows), default=-1)
        lines = []
        for row in range(last + 1):
            columns = [column for at, column in self.rows if at == row]
            lines.append("".join(self.rows.get((row, column), " ") for column in range(max(columns, default=-1) + 1)))
        return "\n".join(lines)

    def _control(self, final: str, numbers: list[int]) -> None:
        if final == "J" and numbers[0] == 2:
            self.rows.clear()
        if final == "H":
            self.row, self.column = (max(number, 1) - 1 for number in (*numbers, 1)[:2])

    def _letter(self, letter: str) -> None:
        self.bells += letter == "\a"
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
        elif letter.isprintable():
            self.rows[self.row, self.column] = letter
            self.column += 1
