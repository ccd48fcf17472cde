"""Reads where a finding is: its file, its lines and the side that they count in, as tools and models write them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_crab.parsing.finding_names import Parts
from pytest_crab.text import cut
from pytest_crab.types import Side

#: A place within a place, such as a location with a range; no tool goes deeper.
_DEEPEST = 3
_DASH = r"\s*(?:[-\u2013\u2014:,]|\.\.|to)\s*"
#: One line or two in a text: 59, L59, 59-61, #L59-L61, lines 59 to 61; further ranges behind a comma are left out.
_SPAN = re.compile(
    rf"(?:lines?\s*)?#?L?(?P<first>[0-9]{{1,9}})(?:\.0+)?(?:{_DASH}L?(?P<last>[0-9]{{1,9}})(?:\.0+)?)?(?:\s*[,;].*)?",
    re.IGNORECASE,
)
#: A file with its lines: a.py:59, a.py:59:5, a.py:59-61, a.py#L59-L61, a.py (line 59).
#: Blanks are tried in one way only, so that a long run of them takes no time.
_WITH_LINES = re.compile(
    r"(?P<path>\S(?:.*?\S)?)\s*(?::|#L|(?:,\s*)?(?:\(\s*)?lines?\s*)(?P<first>[0-9]{1,9})(?::[0-9]+)?"
    r"(?:\s*[-\u2013]\s*L?(?P<last>[0-9]{1,9})(?::[0-9]+)?)?\)?",
    re.IGNORECASE,
)
_NO_FILE_IS_SO_LONG = 10**9
#: What stands for "no line".
_NO_LINE = {"", "0", "-1", "n/a", "na", "none", "null", "-", "unknown"}
_SIDES = {
    **dict.fromkeys(("right", "new", "head", "after", "added", "+"), Side.RIGHT),
    **dict.fromkeys(("left", "old", "base", "before", "removed", "deleted", "-"), Side.LEFT),
}

Span = tuple[int, "int | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPlace:
    """The parts of a place that are known."""

    path: str | None = None
    start: int | None = None
    end: int | None = None
    side: Side = Side.RIGHT
    #: Sentences about the parts that were given and cannot be read.
    lost: tuple[str, ...] = ()
    #: Whether one of these is about a key that is no name of a place, so that all findings may be lost so.
    unknown: bool = False
    #: A path that is none of the tree's.
    outside: str | None = None


def read_place(item: Mapping[str, Any], *, root: str | None = None, files: Collection[str] = ()) -> FindingPlace:
    """Return the place of a finding; ``root`` and ``files`` are those of ``tree_path``."""
    parts = Parts(item)
    lost: list[str] = []
    raw = _read(parts, files, lost, 0)
    path = None if raw.path is None else _inside(raw.path, root, files)
    if raw.path is not None and path is None:
        return FindingPlace(outside=raw.path)
    place = replace(raw, path=path)
    unread = []
    if path is None:
        unread = list(parts.unread_places(path=True))
        place = replace(place, start=None, end=None)
        if raw.start is not None and raw.path is None:
            lost.append("lines of no file: a path should stand beside them")
    elif place.start is None:
        unread = list(parts.unread_places(path=False))
    unknown = [
        f"{key} ({_quote(value)}), which looks like a place and is no name that is read" for key, value in unread
    ]
    return replace(place, lost=(*unknown, *lost), unknown=bool(unknown))


def _read(parts: Parts, files: Collection[str], lost: list[str], depth: int) -> FindingPlace:
    """Return the place that an object tells, its path as it stands."""
    place = _of_path(parts, files, lost, depth)
    span = _span_of(parts, lost) or (None if place.start is None else (place.start, place.end))
    side = _side(parts, lost)
    if span is None and (old := parts.first("old_line")) is not None:
        span, side = _span(*old, lost), Side.LEFT
    place = replace(place, start=None if span is None else span[0], end=None if span is None else span[1])
    if depth < _DEEPEST and (place.path is None or place.start is None):
        place = _join(place, _of_location(parts, files, lost, depth))
    if side is None:  # on which side they are cannot be told, so they are no lines
        return replace(place, start=None, end=None)
    return place if side is Side.RIGHT else replace(place, side=side)


def _join(one: FindingPlace, other: FindingPlace) -> FindingPlace:
    if one.path is None:
        one = replace(one, path=other.path)
    return one if one.start is not None else replace(one, start=other.start, end=other.end, side=other.side)


def _of_path(parts: Parts, files: Collection[str], lost: list[str], depth: int) -> FindingPlace:
    found = parts.first("path")
    if found is None:
        return FindingPlace()
    if isinstance(found[1], Mapping) and depth < _DEEPEST:
        return _read(Parts(found[1]), files, lost, depth + 1)
    if isinstance(found[1], bool) or not isinstance(found[1], (str, int)):
        lost.append(f"{found[0]} ({_quote(found[1])}), which is no path")
        return FindingPlace()
    return _split(str(found[1]), files)


def _split(text: str, files: Collection[str]) -> FindingPlace:
    """Return the path, and the lines that stand behind it."""
    text = text.strip().strip("`'\"").removeprefix("file://")
    match = None if text in files else _WITH_LINES.fullmatch(text)
    if match is None:
        return FindingPlace(path=text or None)
    first, last = int(match["first"]), match["last"]
    return FindingPlace(
        path=match["path"].strip("`'\""), start=first or None, end=int(last) if last and first else None
    )


def _of_location(parts: Parts, files: Collection[str], lost: list[str], depth: int) -> FindingPlace:
    found = parts.first("location")
    if found is None:
        return FindingPlace()
    key, value = found
    value = value[0] if isinstance(value, list) else value
    if isinstance(value, Mapping):
        return _read(Parts(value), files, lost, depth + 1)
    if isinstance(value, str):
        split = _split(value, files)
        if split.start is not None or _is_path(split.path, files):
            return split
        if (span := _span(key, value, [])) is not None:
            return FindingPlace(start=span[0], end=span[1])
    lost.append(f"{key} ({_quote(value)}), which is no place")
    return FindingPlace()


def _is_path(text: str | None, files: Collection[str]) -> bool:
    if text is None or text in files:
        return text is not None
    return re.fullmatch(r"\S+\w", text) is not None and not {".", "/"}.isdisjoint(text)


def _side(parts: Parts, lost: list[str]) -> Side | None:
    found = parts.first("side")
    if found is None:
        return Side.RIGHT
    side = _SIDES.get(str(found[1]).strip().lower())
    if side is None:
        lost.append(f"{found[0]} ({_quote(found[1])}), which should be left or right")
    return side


def _span_of(parts: Parts, lost: list[str]) -> Span | None:
    """Return the lines that an object tells by itself: a line beside a start is the last one."""
    start, line, end = (parts.first(part) for part in ("start", "line", "end"))
    first = _span(*start, lost) if start is not None else None
    if first is None:
        first, line = (_span(*line, lost) if line is not None else None), None
    if first is None and (lines := parts.first("lines")) is not None:
        first = _span(*lines, lost)
    given = end if end is not None else line
    if first is None and end is not None:
        lost.append(f"{end[0]} ({_quote(end[1])}) without a first line")
    if first is None or first[1] is not None or given is None:
        return first
    last = _span(*given, lost)
    if last is not None and last[0] < first[0]:
        lost.append(f"{given[0]} ({_quote(given[1])}), which lies before the first line")
        return first
    return first if last is None else (first[0], last[1] or last[0])


def _span(key: str, value: Any, lost: list[str]) -> Span | None:
    """Return the first line and the last, if two are given; None for no line."""
    found = _lines(value)
    if found is None:
        lost.append(f"{key} ({_quote(value)}), which is no line")
    if not found or found[0] < 1:
        return None
    return found[0], found[-1] if found[-1] > found[0] else None


def _lines(value: Any, depth: int = 0) -> list[int] | None:
    """Return the lines in a value, none where it says that there are none; None if it cannot be read."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value < _NO_FILE_IS_SO_LONG:
        return [value] if value > 0 else []
    if isinstance(value, str):
        match = _SPAN.fullmatch(value.strip())
        if match is None or not int(match["first"]):
            return [] if value.strip().lower() in _NO_LINE else None
        return [int(number) for number in match.groups() if number]
    if depth == _DEEPEST:
        return None
    if isinstance(value, list):
        each = [_lines(part, depth + 1) for part in value]
        return None if None in each else sorted(number for part in each for number in part or ())
    return _of_mapping(value, depth + 1) if isinstance(value, Mapping) else None


def _of_mapping(value: Mapping[str, Any], depth: int) -> list[int] | None:
    """Return the lines of {start, end} or {line}; where editors count letters as characters, lines count from 0."""
    parts = Parts(value)
    found = [named for part in ("start", "line", "lines", "end") if (named := parts.first(part)) is not None]
    each = [_lines(part, depth) for _, part in found]
    if not found or None in each:
        return None
    more = 1 if "character" in value else 0
    if more and not any(each):
        return [1]
    return [number + more for part in each for number in part or ()]


def _quote(value: Any) -> str:
    return repr(cut(str(value), 60))


def _inside(path: str, root: str | None, files: Collection[str]) -> str | None:
    """Return the path as ``tree_path`` does; one from the machine's root, outside the tree, starts at the tree."""
    inside = tree_path(path, root, files)
    if inside is None and path.startswith("/") and (root is None or path.rstrip("/") != root.rstrip("/")):
        inside = tree_path(path.lstrip("/"), None, files)
    return inside


def tree_path(path: str, root: str | None = None, files: Collection[str] = ()) -> str | None:
    """``path`` as git names it, relative to the tree at ``root``; None if it does not lie below the tree.

    ``files`` are those of the diff. A path that names none of them as it stands is one of them if it does so without a
    diff's prefix (``a/``, ``b/``), with slashes for backslashes, or without the folders before the tree.
    """
    if root is not None and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    own = _relative(path)
    if own in files or not files or "\0" in path:
        return own
    return next((name for name in _other_spellings(path) if name in files), own)


def _other_spellings(path: str) -> Iterator[str]:
    slashed = path.replace("\\", "/")
    plainly = _relative(slashed)
    if plainly is not None:
        yield plainly
        if plainly.startswith(("a/", "b/")):
            yield plainly[2:]
    if re.match(r"([A-Za-z]:)?/", slashed):
        parts = posixpath.normpath(slashed).split("/")
        yield from ("/".join(parts[first:]) for first in range(1, len(parts)))


def _relative(path: str) -> str | None:
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        return None
    path = posixpath.normpath(path)
    return None if path == "." else path
