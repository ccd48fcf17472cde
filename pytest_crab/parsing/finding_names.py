"""The names under which tools and models write the parts of a finding, and lists of findings; the table is data.

docs/reference/command.md has the same table, and a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: By the part of a finding, the first that is there counts; of the words in ``body`` all that are there.
NAMES: Mapping[str, tuple[str, ...]] = {
    "path": (
        "path", "file", "filename", "file_path", "relevant_file", "relative_path", "absolute_file_path", "new_path",
        "old_path", "uri",
    ),
    "start": (
        "start", "start_line", "line_start", "first_line", "begin", "begin_line", "from", "from_line",
        "start_line_number", "relevant_lines_start", "original_start_line",
    ),
    "line": ("line", "line_number", "line_no", "row", "new_line", "original_line"),
    "end": ("end", "end_line", "line_end", "last_line", "to", "to_line", "end_line_number", "relevant_lines_end"),
    "lines": ("lines", "line_range", "range", "line_numbers", "line_span", "region"),
    "old_line": ("old_line",),
    "location": ("location", "code_location", "locations", "position", "place"),
    "side": ("side", "start_side"),
    "title": ("title", "issue_header", "header", "heading", "summary", "one_sentence_summary"),
    "body": (
        "body", "comment", "description", "issue_content", "message", "content", "issue", "problem", "text", "note",
        "remark", "explanation", "details", "detail", "reason", "suggestion", "suggestion_content", "recommendation",
    ),
    "severity": ("severity", "priority", "level"),
    "confidence": ("confidence", "confidence_score", "confidence_level", "certainty"),
    "rule": ("rule", "rule_id", "check_id", "check_name"),
}  # fmt: skip

#: What a list of findings is called that stands in an object.
LISTS = (
    "findings", "issues", "comments", "problems", "remarks", "bugs", "results", "suggestions", "code_suggestions",
    "violations", "review_comments", "inline_comments", "key_issues_to_review", "messages", "diagnostics",
    "general_diagnostics", "annotations", "warnings", "concerns", "defects", "vulnerabilities", "feedback",
)  # fmt: skip

#: The parts that say where a finding is.
PLACES = ("path", "start", "line", "end", "lines", "old_line", "location")

_SEPARATORS = re.compile(r"[\s_-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Words in a key that nothing but a place has, and those with which it is something else.
_OF_PATH = {"path", "file", "filename", "filepath", "uri", "location", "locations", "position", "loc"}
_OF_LINES = {
    "line", "lines", "lineno", "row", "rows", "region", "range", "span", "location", "locations", "position", "loc",
    "begins", "starts", "start", "begin",
}  # fmt: skip
_OTHERWISE = {
    "column", "columns", "col", "count", "total", "content", "contents", "text", "code", "offset", "length", "size",
    "changed", "type", "date", "time", "hash",
}  # fmt: skip


def normal(name: object) -> str:
    """Return a key without what tools write differently: start_line, startLine and Start-Line are one name."""
    return _SEPARATORS.sub("", str(name)).lower()


_NORMAL = {part: tuple(map(normal, names)) for part, names in NAMES.items()}
_LISTS = frozenset(map(normal, LISTS))
_KNOWN_PLACES = frozenset(name for part in PLACES for name in _NORMAL[part])


class Parts:
    """An object's values by the part of a finding that their keys name; null and empty values are absent."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self._values: dict[str, tuple[str, Any]] = {}
        for key, value in item.items():
            if value not in (None, "", [], {}):
                self._values.setdefault(normal(key), (key, value))

    def first(self, part: str) -> tuple[str, Any] | None:
        """Return the key and the value that count for a part of a finding; None if there is none."""
        return next(self.all(part), None)

    def all(self, part: str) -> Iterator[tuple[str, Any]]:
        """Yield every key and value that name a part of a finding, in the table's order."""
        return (self._values[name] for name in _NORMAL[part] if name in self._values)

    def unread_places(self, *, path: bool) -> Iterator[tuple[str, Any]]:
        """Yield the keys and values that look like a path (else like lines) and are no names of the table."""
        for name, (key, value) in self._values.items():
            if name not in _KNOWN_PLACES and _looks_like_place(key, value, path=path):
                yield key, value


def as_text(value: Any) -> str | None:
    """Return a value as words: a number as it is written, texts as lines, and of an object its text."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, Mapping):
        return next((value[name] for name in ("markdown", "text", "body") if isinstance(value.get(name), str)), None)
    return None


def has_text(parts: Parts, part: str) -> bool:
    """Return whether a part of a finding is there in words."""
    return any(as_text(value) is not None for _, value in parts.all(part))


def is_list_name(key: object) -> bool:
    """Return whether a list of findings is called so."""
    return normal(key) in _LISTS


def pattern_of(names: Iterable[str]) -> str:
    """Return a pattern of names as they may stand in a text."""
    return "|".join(name.replace("_", "[_-]?") for name in sorted(names, key=len, reverse=True))


def _looks_like_place(key: str, value: Any, *, path: bool) -> bool:
    if isinstance(value, Mapping):
        return any(normal(name) in _KNOWN_PLACES for name in value)
    words = set(_SEPARATORS.split(_HUMP.sub("_", str(key)).lower()))
    if not words & (_OF_PATH if path else _OF_LINES) or words & _OTHERWISE:
        return False
    if path:
        return isinstance(value, str) and re.fullmatch(r"\S+[./]\S+", value.strip()) is not None
    numbers = value if isinstance(value, list) else [value]
    return all(re.fullmatch(r"(?:lines?\s*)?L?\d+\b.*", str(number).strip(), re.IGNORECASE) for number in numbers)
