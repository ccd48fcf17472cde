"""Reads findings out of what a model answered in words: the JSON in it, under the field names that models use.

The rule is that of docs/reference/reviewers-and-agents.md (answers in words).
"""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pytest_crab.parsing.findings import review_of
from pytest_crab.parsing.json_in_text import JsonPiece, pieces, stands_alone
from pytest_crab.types import Review

#: What a finding's fields are called by models, and by us.
_NAMES = {
    "path": ("path", "file", "filename", "file_path", "relevant_file"),
    "start": ("start", "line", "start_line", "line_number", "lines", "line_range"),
    "end": ("end", "end_line", "line_end"),
    "title": ("title", "issue_header", "header", "summary"),
    "body": ("body", "comment", "description", "issue_content", "message", "content"),
    "severity": ("severity", "priority"),
}
#: What a list of findings is called that stands in an object.
_LISTS = ("findings", "issues", "comments", "problems", "remarks")
#: The keys of a JSON schema, which some models repeat before they answer.
_SCHEMA = {"properties", "$schema", "items"}
_FIELDS = "|".join(name for names in _NAMES.values() for name in names)
_KEY = re.compile(rf"""[\[{{\s]*["']?(?:(?P<field>{_FIELDS})|{"|".join(_LISTS)})["']?\s*:""")
_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'"})

Items = list[Any]


def read_findings(
    text: str, problems: list[str], *, path: str | None = None, files: Collection[str] = ()
) -> Review | None:
    """The review in a model's answer: of all lists of findings in it that are whole, the last.

    Thinking is no part of the answer. Objects one after the other are a list too, and an empty list is one if it stands
    by itself. An answer without a list is a fault, since it is no review and no empty one either; so is one in which
    only an empty list can be read, and something behind it cannot. With ``path`` all findings are on that file; else
    ``files`` are those of the diff. Every fault is appended to ``problems``; the result is None if there was any.
    """
    empty: Review | None = None
    found: list[str] = []
    for variant in _variants(text):
        faults: list[str] = []
        review = _read(variant, faults, path, files)
        if review is not None and review.findings:
            return review
        empty = empty or review
        found = found or faults
    if empty is None:
        problems += found
    return empty


def _variants(text: str) -> Iterator[str]:
    """The answer, and what it would be had it not been escaped or typeset."""
    yield text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        inner = _unescape(text) if '\\"' in text else None
    others = (inner if isinstance(inner, str) else text, html.unescape(text), text.translate(_QUOTES))
    yield from (other for other in others if other != text)


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def _read(text: str, problems: list[str], path: str | None, files: Collection[str]) -> Review | None:
    found = pieces(text)
    items, unread = _last_list(text, found)
    if items is None or (unread and not items):
        problems.append(_why(text, found))
        return None
    named = [
        _our_fields(item) | ({"path": path} if path else {}) if isinstance(item, Mapping) else item for item in items
    ]
    review = review_of({"findings": named}, problems, files=files)
    if review is None or not unread:
        return review
    sentence = "a part of the answer that looks like a finding cannot be read"
    return dataclasses.replace(review, set_aside=(*review.set_aside, *[sentence] * unread))


def _why(text: str, found: list[JsonPiece]) -> str:
    if not text.strip():
        return "it is empty"
    if found and found[-1].thinking:
        return "its thinking does not end, so nothing in it is an answer"
    if any(piece.cut and _looks_like_findings(text, piece) for piece in found):
        return "its list of findings is cut off"
    unread = any(not piece.readable and _looks_like_findings(text, piece) for piece in found)
    return "its list of findings is no JSON" if unread else "it holds no list of findings"


def _last_list(text: str, found: list[JsonPiece]) -> tuple[Items | None, int]:
    """The last whole list of findings (None: there is none), and how many findings behind its start are unreadable."""
    chosen: Items | None = None
    unread, running = 0, False
    for piece in found:
        if not piece.readable:
            if piece.cut and _looks_like_findings(text, piece):
                return chosen, unread + 1
            unread += text[piece.start] == "{" and _looks_like_findings(text, piece, lists=False)
            continue
        items = _items(piece.value)
        if items is not None and (items or isinstance(piece.value, Mapping) or stands_alone(text, piece)):
            chosen, unread, running = items, 0, False
        elif items is None and _is_finding(piece.value):
            chosen, unread = ([*(chosen or ()), piece.value], unread) if running else ([piece.value], unread)
            running = True
    return chosen, unread


def _looks_like_findings(text: str, piece: JsonPiece, *, lists: bool = True) -> bool:
    """Return True if a text that cannot be read begins with a key of a finding, or of a list of them."""
    key = _KEY.match(text, piece.start)
    return piece.thinking or (key is not None and (lists or key["field"] is not None))


def _items(value: Any) -> Items | None:
    """The list of findings that a value is or holds; None if there is none."""
    if isinstance(value, list):
        flat = [item for part in value for item in (part if isinstance(part, list) else [part])]
        return flat if not flat or any(_has_text(item) for item in flat) else None
    if not isinstance(value, Mapping) or _SCHEMA & value.keys():
        return None
    named = [part for name in _LISTS if isinstance(part := value.get(name), list)]
    if named:
        return [item for part in named for item in part]
    if _is_finding(value):
        return None
    held = [items for part in value.values() if (items := _items(part)) and isinstance(part, (list, Mapping))]
    inner = [part for part in value.values() if isinstance(part, Mapping) and _items(part) == []]
    return [item for items in held for item in items] if held else [] if inner else None


def _has_text(item: Any) -> bool:
    """Return True if an entry of a list is meant as a finding: it has a path, a title or a body."""
    names = (*_NAMES["path"], *_NAMES["title"], *_NAMES["body"])
    return isinstance(item, Mapping) and any(isinstance(item.get(name), str) for name in names)


def _is_finding(value: Any) -> bool:
    """Return True if an object by itself is a finding: it has words, and a place or a title."""
    if not isinstance(value, Mapping) or _SCHEMA & value.keys():
        return False
    path, title, body = ([value.get(name) for name in _NAMES[field]] for field in ("path", "title", "body"))
    has = [any(isinstance(part, str) for part in parts) for parts in (path, title, body)]
    return (has[0] and (has[1] or has[2])) or (has[1] and has[2])


def _our_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding under our field names; a title stands in for a missing body."""
    found: dict[str, Any] = {}
    for ours, theirs in _NAMES.items():
        name = next((name for name in theirs if item.get(name) not in (None, "")), None)
        if name is not None:
            found[ours] = item[name]
    for words in ("severity", "title"):
        if words in found:
            found[words] = str(found[words])
    if "body" not in found and "title" in found:
        found["body"] = found["title"]
    return found
