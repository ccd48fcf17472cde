"""Locations of comments: from the hunks of a pull request, or from text such as path:line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab import diffs
from pytest_crab.diffs import Hunk
from pytest_crab.errors import BadInput
from pytest_crab.text import cut
from pytest_crab.types import Side

_NAMED = re.compile(r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")
_EXCERPT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in the pull request."""

    path: str
    #: None: the whole file.
    lines: tuple[int, int] | None
    side: Side = Side.RIGHT
    #: Its first changed line.
    excerpt: str = ""

    def __str__(self) -> str:
        if self.lines is None:
            return self.path
        first, last = self.lines
        span = f"{first}" if first == last else f"{first}-{last}"
        return f"{self.path}:{span}{' (left)' if self.side is Side.LEFT else ''}"


def hunk_locations(diff: str) -> Iterator[Location]:
    """Yield a location for each hunk of a git diff: its added lines, else on the left side its removed lines."""
    for file, hunks in diffs.parse_hunks(diff):
        for hunk in hunks:
            yield from _hunk_location(file.path, hunk)


def _hunk_location(path: str, hunk: Hunk) -> Iterator[Location]:
    added = [line.new for line in hunk.lines if line.mark == "+" and line.new]
    removed = [line.old for line in hunk.lines if line.mark == "-" and line.old]
    if added:
        yield Location(path=path, lines=(min(added), max(added)), excerpt=_excerpt(hunk, "+"))
    elif removed:
        yield Location(path=path, lines=(min(removed), max(removed)), side=Side.LEFT, excerpt=_excerpt(hunk, "-"))


def _excerpt(hunk: Hunk, mark: str) -> str:
    """Return the first line with this mark that is not blank, safe to print and cut."""
    texts = (" ".join(line.text.split()) for line in hunk.lines if line.mark == mark)
    text = next((text for text in texts if text), "")
    return cut("".join(char if char.isprintable() else "?" for char in text), _EXCERPT)


def parse_location(text: str) -> Location:
    """Read ``path``, ``path:line`` or ``path:first-last``. Raises BadInput."""
    match = _NAMED.fullmatch(text)
    assert match is not None or not text
    if match is None or not diffs.is_inside(match["path"]):
        raise BadInput("--comment", [f"{text!r} is no place; it should be path:line or path:first-last in the tree"])
    if match["first"] is None:
        return Location(path=match["path"], lines=None)
    first = int(match["first"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise BadInput("--comment", [f"{text!r} has no such lines; they are counted from 1, the first one first"])
    return Location(path=match["path"], lines=(first, last))
