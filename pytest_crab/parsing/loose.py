"""Reads findings out of what a model answered in words: the JSON in it, under the field names that models use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from pytest_crab.parsing.findings import review_of
from pytest_crab.types import Review

#: What a finding's fields are called by models, and by us.
_NAMES = {
    "path": ("path", "file", "filename", "file_path", "relevant_file"),
    "start": ("start", "line", "start_line", "line_number"),
    "end": ("end", "end_line", "line_end"),
    "title": ("title", "issue_header", "header", "summary"),
    "body": ("body", "comment", "description", "issue_content", "message", "content"),
    "severity": ("severity", "priority"),
}


def read_loose(text: str, problems: list[str], *, path: str | None = None) -> Review | None:
    """The review in a model's answer: the first list of mappings in it, by itself or under ``findings``.

    Words and fences around it do not matter; an answer without such a list is a fault, since it is no review and no
    empty one either. With ``path`` all findings are on that file. Every fault is appended to ``problems``; the result
    is None if there was any.
    """
    for value in _values(text):
        items = _items(value)
        if items is not None:
            return review_of(
                {"findings": [_named(item) | ({"path": path} if path else {}) for item in items]}, problems
            )
    problems.append("it holds no list of findings" if text.strip() else "it is empty")
    return None


def _values(text: str) -> Iterator[Any]:
    """Every JSON array or object in the text that lies in no other one, in order."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        starts = [place for place in (text.find("[", at), text.find("{", at)) if place >= 0]
        if not starts:
            return
        try:
            value, at = decoder.raw_decode(text, min(starts))
            yield value
        except (ValueError, RecursionError):
            at = min(starts) + 1


def _items(value: Any) -> list[Mapping[str, Any]] | None:
    if isinstance(value, Mapping):
        lists = [value[name] for name in ("findings", "issues", "comments") if isinstance(value.get(name), list)]
        single = [value] if any(name in value for name in _NAMES["body"]) else None
        value = lists[0] if lists else single
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return value
    return None


def _named(item: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for ours, theirs in _NAMES.items():
        name = next((name for name in theirs if item.get(name) not in (None, "")), None)
        if name is not None:
            found[ours] = item[name]
    for line in ("start", "end"):
        if isinstance(found.get(line), str):
            found[line] = int(found[line]) if found[line].strip().isdecimal() else None
    if "severity" in found:
        found["severity"] = str(found["severity"])
    if "body" not in found and "title" in found:
        found["body"] = found["title"]
    return found
