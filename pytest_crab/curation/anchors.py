"""Where comments may be anchored: the hunks of a pull request, and what a person names as path:line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from unidiff.patch import Hunk
from unidiff.patch import Line
from unidiff.patch import PatchSet

from pytest_crab import diffs
from pytest_crab.errors import BadInput
from pytest_crab.types import Side

_NAMED = re.compile(r"(?P<path>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")
_EXCERPT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the pull request; ``lines`` None is the whole file, ``excerpt`` is how the place begins."""

    path: str
    lines: tuple[int, int] | None
    side: Side = Side.RIGHT
    excerpt: str = ""

    def __str__(self) -> str:
        if self.lines is None:
            return self.path
        first, last = self.lines
        span = f"{first}" if first == last else f"{first}-{last}"
        return f"{self.path}:{span}{' (left)' if self.side is Side.LEFT else ''}"


def anchors(diff: str) -> Iterator[Anchor]:
    """Yield a place for each hunk of a git diff: its added lines, or on the left side those that are only removed."""
    for file in PatchSet(diffs.normalise(diff)):
        path = file.target_file if not file.is_removed_file else file.source_file
        name = path[2:] if path[:2] in ("a/", "b/") else path
        for hunk in file:
            yield from _of_hunk(name, hunk)


def _of_hunk(path: str, hunk: Hunk) -> Iterator[Anchor]:
    added = [line for line in hunk if line.is_added]
    removed = [line for line in hunk if line.is_removed]
    if added:
        numbers = [line.target_line_no or 0 for line in added]
        yield Anchor(path=path, lines=(min(numbers), max(numbers)), excerpt=_excerpt(added))
    elif removed:
        numbers = [line.source_line_no or 0 for line in removed]
        yield Anchor(path=path, lines=(min(numbers), max(numbers)), side=Side.LEFT, excerpt=_excerpt(removed))


def _excerpt(lines: list[Line]) -> str:
    texts = (" ".join(str(line.value).split()) for line in lines)
    text = next((text for text in texts if text), "")
    visible = "".join(char if char.isprintable() else "?" for char in text)
    return visible if len(visible) <= _EXCERPT else f"{visible[: _EXCERPT - 3]}..."


def named_anchor(text: str) -> Anchor:
    """What ``path``, ``path:line`` or ``path:first-last`` stands for. Raises BadInput."""
    match = _NAMED.fullmatch(text)
    assert match is not None or not text
    if match is None or not diffs.is_inside(match["path"]):
        raise BadInput("--comment", [f"{text!r} is no place; it should be path:line or path:first-last in the tree"])
    if match["first"] is None:
        return Anchor(path=match["path"], lines=None)
    first = int(match["first"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise BadInput("--comment", [f"{text!r} has no such lines; they are counted from 1, the first one first"])
    return Anchor(path=match["path"], lines=(first, last))
