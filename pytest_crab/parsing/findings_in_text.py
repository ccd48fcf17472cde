"""Reads findings out of what a tool printed or a model answered in words: the JSON in it.

The rule is that of docs/reference/reviewers-and-agents.md (answers in words).
"""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from pytest_crab.parsing.finding_lists import FoundList, find_list, is_finding, is_group
from pytest_crab.parsing.finding_names import LISTS, NAMES, normal, pattern_of
from pytest_crab.parsing.findings import review_of
from pytest_crab.parsing.json_in_text import JsonPiece, pieces, stands_alone
from pytest_crab.types import Review

#: Names of a finding's parts that any other text may have in braces too.
_COMMON = {
    "begin",
    "content",
    "from",
    "issue",
    "level",
    "note",
    "problem",
    "range",
    "reason",
    "region",
    "row",
    "text",
    "to",
}
_FIELDS = [name for part, names in NAMES.items() if part != "rule" for name in names if name not in _COMMON]
_KEY = re.compile(
    rf"""(?=(?P<open>[\[{{\s]{{1,40}}))(?P=open)["']?(?:(?P<field>{pattern_of(_FIELDS)})|{pattern_of(LISTS)})["']?\s*:""",
    re.IGNORECASE,
)
#: Under these an empty list says of one before it that nothing in that holds.
_UNDOING = {"findings", "issues", "comments", "problems", "remarks"}
_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'"})


class _Chosen(NamedTuple):
    """The list that counts."""

    #: None: there is no such list.
    items: list[Any] | None = None
    #: How many findings behind the start of the list are unreadable.
    unread: int = 0


def read_findings(
    text: str,
    problems: list[str],
    *,
    path: str | None = None,
    root: str | None = None,
    files: Collection[str] = (),
) -> Review | None:
    """The review in a model's answer: of all lists of findings in it that are whole, the last.

    Thinking is no part of the answer. Objects one after the other are a list too, and an empty list is one if it stands
    by itself. An answer without a list is a fault, since it is no review and no empty one either; so is one in which
    only an empty list can be read, and something behind it cannot. With ``path`` all findings are on that file; else
    paths are read as ``tree_path`` does with ``root`` and ``files``. Every fault is appended to ``problems``; the
    result is None if there was any.
    """
    empty: Review | None = None
    found: list[str] = []
    for variant in _variants(text):
        faults: list[str] = []
        review = _read(variant, faults, path, root, files)
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


def _read(text: str, problems: list[str], path: str | None, root: str | None, files: Collection[str]) -> Review | None:
    found = pieces(text)
    items, unread = _last_list(text, found, files)
    if items is None or (unread and not items):
        problems.append(_why(text, found))
        return None
    review = review_of(items, problems, path=path, root=root, files=files)
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


def _last_list(text: str, found: list[JsonPiece], files: Collection[str]) -> _Chosen:
    """The last whole list of findings; where there is none, an empty one that alone is in the answer."""
    chosen, unsure, running = _Chosen(), False, False
    for piece in found:
        if not piece.readable:
            if piece.cut and _looks_like_findings(text, piece):
                return _Chosen(chosen.items, chosen.unread + 1)
            one = text[piece.start] == "{" and _looks_like_findings(text, piece, lists=False)
            chosen = _Chosen(chosen.items, chosen.unread + one)
            continue
        held = find_list(piece.value, files)
        whole = held is not None and _counts(held, text, piece, over=bool(chosen.items))
        single = not whole and is_finding(piece.value)
        if single or (whole and running and is_group(piece.value)):
            more = [piece.value] if single or held is None else held.items
            chosen = _Chosen([*(chosen.items or ()), *more] if running else more, chosen.unread)
            running = True
        elif whole and held is not None:
            chosen, running = _Chosen(held.items), is_group(piece.value)
        elif held is not None:
            unsure = unsure or stands_alone(text, piece)
    return _Chosen([]) if chosen.items is None and unsure and not chosen.unread else chosen


def _counts(held: FoundList, text: str, piece: JsonPiece, *, over: bool) -> bool:
    """Return whether a list is one of findings: an empty one of which nothing else says so has to stand alone.

    So has one that comes ``over`` findings, and its name has to be one that code seldom has.
    """
    if held.items:
        return True
    if isinstance(piece.value, list):
        return stands_alone(text, piece)
    named = any(normal(key) in _UNDOING for key in piece.value)
    return held.sure and (not over or (named and stands_alone(text, piece)))


def _looks_like_findings(text: str, piece: JsonPiece, *, lists: bool = True) -> bool:
    """Return True if a text that cannot be read begins with a key of a finding, or of a list of them."""
    key = _KEY.match(text, piece.start)
    return piece.thinking or (key is not None and (lists or key["field"] is not None))
