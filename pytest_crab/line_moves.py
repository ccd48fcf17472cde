"""The places of lines after a diff, and whether the diff touches them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab.diffs import Hunk, parse_hunks

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of changed lines."""

    #: The old line behind which lines are removed.
    after: int
    #: The number of removed lines.
    removed: int
    #: The number of lines in their place.
    added: int


class LineMoves:
    """One diff, read for the lines of its old side. Raises ValueError for a text that is no git diff."""

    def __init__(self, diff: str) -> None:
        self._files = {file.old: (file.new, tuple(_blocks(hunks))) for file, hunks in parse_hunks(diff)}

    def move(self, path: str, lines: Lines | None) -> tuple[str, Lines | None] | None:
        """Return the path and the lines after the diff, 1-based and inclusive; None where the file is gone.

        Removed lines move to what stands in their place, or to the line behind it. No lines are the whole file.
        """
        new, blocks = self._files.get(path, (path, ()))
        if new is None:
            return None
        if lines is None:
            return new, None
        ends = [_moved(line, blocks) for line in lines]
        return new, (ends[0][0], max(ends[0][0], ends[1][1]))

    def touches(self, path: str, lines: Lines | None) -> bool:
        """Return whether the diff changes one of these old lines, or adds some directly before, between or behind them.

        No lines are the whole file.
        """
        if path not in self._files:
            return False
        _, blocks = self._files[path]
        return lines is None or any(_meets(block, lines) for block in blocks)


def _blocks(hunks: tuple[Hunk, ...]) -> Iterator[_Block]:
    for hunk in hunks:
        old = [line.old for line in hunk.lines if line.old is not None]
        after = hunk.old_start - 1 if old else hunk.old_start  # git names the line before where it shows none
        removed = added = 0
        for line in hunk.lines:
            if line.mark == " ":
                if removed or added:
                    yield _Block(after, removed, added)
                after, removed, added = after + removed + 1, 0, 0
            removed, added = removed + (line.mark == "-"), added + (line.mark == "+")
        if removed or added:
            yield _Block(after, removed, added)


def _moved(line: int, blocks: tuple[_Block, ...]) -> Lines:
    """Return the first and the last line that stand for one old line."""
    shift = 0
    for block in blocks:
        if line <= block.after:
            break
        if line <= block.after + block.removed:
            first = block.after + shift + 1
            return first, max(first, first + block.added - 1)
        shift += block.added - block.removed
    return line + shift, line + shift


def _meets(block: _Block, lines: Lines) -> bool:
    first, last = lines
    if not block.removed:
        return first - 1 <= block.after <= last
    return block.after + 1 <= last and block.after + block.removed >= first
