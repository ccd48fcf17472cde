"""What makes two requests the same: their content, without what differs between homes, dates and attempts."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

#: The tokens that the gateway gives out.
TOKEN = re.compile(r"crab-[A-Za-z0-9_-]{43}")

#: Top-level fields that say who asks and how it is cached, not what is asked.
DROPPED = frozenset({"metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata", "store"})

_DAY = (
    r"(?:\d{4}[-/]\d{2}[-/]\d{2}"  # 2026-11-22
    r"|(?:[A-Z][a-z]+,? )?[A-Z][a-z]+ \d{1,2},? \d{4}"  # Sunday, November 22, 2026
    r"|(?:[A-Z][a-z]+,? )?\d{1,2} [A-Z][a-z]+ \d{4})"  # 22 November 2026
)

_TODAY = re.compile(rf"(?i:(today'?s date|current date)( is|:)? *)[`'\"]?{_DAY}")

#: Taken from all texts: what says where, when and on what machine a client runs, in the words that clients use for it.
#: First a text without which the pattern cannot fit: requests are long, and most of them hold none of these.
_EVERYWHERE: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("crab-", TOKEN, "<token>"),
    # A run's scratch folders, as paths and as claude-code spells paths in the names of its folders.
    (
        "/pytest-crab-",
        re.compile(r"(?:/[\w.+-]+)*/pytest-crab-\d+/runs/[0-9a-f]{16}/[A-Za-z0-9_]+"),
        "<scratch>",
    ),
    (
        "-pytest-crab-",
        re.compile(r"(?:-[\w.+]+)*-pytest-crab-\d+-runs-[0-9a-f]{16}-[A-Za-z0-9-]+"),
        "<scratch>",
    ),
    (" date", _TODAY, r"\1\2 <date>"),
    (" Date", _TODAY, r"\1\2 <date>"),
    ("<current_date>", re.compile(rf"<current_date>{_DAY}</current_date>"), "<current_date><date></current_date>"),
    ("The current month is", re.compile(r"(The current month is) [A-Z][a-z]+ \d{4}"), r"\1 <month>"),
    (
        "x-anthropic-billing-header:",
        re.compile(r"x-anthropic-billing-header:[^\n]*"),
        "x-anthropic-billing-header: <billing>",
    ),
    ("OS Version:", re.compile(r"(?m)^(\s*-?\s*OS Version:).*$"), r"\1 <os>"),
)

#: Names that are made at random; equal ones get equal numbers, so that what belongs together still does.
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PREFIXES = ("toolu", "msg", "call", "resp", "rs", "fc", "fco", "ctc", "ctco", "req", "chatcmpl")
_NAMES = re.compile(rf"\b(?:[a-z]{{2,10}}_)?{_UUID}\b|\b(?:{'|'.join(_PREFIXES)})_[A-Za-z0-9]{{8,}}\b")
_ANY_UUID = re.compile(r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-")

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"

#: Taken from the results of tools: what a command prints and never prints twice.
_PRINTED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"\b\d{{4}}-\d{{2}}-\d{{2}}[T ]{_TIME}(?:Z| ?[+-]\d{{2}}:?\d{{2}})?"), "<time>"),
    (
        re.compile(rf"\b(?:[A-Z][a-z]{{2}} )?[A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} {_TIME}(?: [A-Z]{{3,4}})?(?: \d{{4}})?"),
        "<time>",
    ),
    (re.compile(rf"\b{_TIME}\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?= ?(?:s|ms|us|secs?|seconds?|milliseconds?)\b)"), "<n>"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "<address>"),
    (re.compile(r"(?m)^Chunk ID: \w+$"), "Chunk ID: <id>"),
    (re.compile(r"/tmp/tmp[A-Za-z0-9_]{6,}"), "<temporary>"),  # noqa: S108 - found, not used
)


def normalise(body: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a request: two requests with the same are the same request.

    A pure function of the body; doing it again changes nothing.
    """
    names: dict[str, str] = {}

    def clean(text: str, *, printed: bool) -> str:
        for needed, pattern, stand_in in _EVERYWHERE:
            if needed in text:
                text = pattern.sub(stand_in, text)
        for pattern, stand_in in _PRINTED if printed else ():
            text = pattern.sub(stand_in, text)
        if not (_ANY_UUID.search(text) or any(f"{prefix}_" in text for prefix in _PREFIXES)):
            return text
        return _NAMES.sub(lambda found: names.setdefault(found.group(), f"<id {len(names) + 1}>"), text)

    return {name: _walk(value, clean, printed=False) for name, value in body.items() if name not in DROPPED}


def _walk(value: Any, clean: Callable[..., str], *, printed: bool) -> Any:
    if isinstance(value, str):
        return clean(value, printed=printed)
    if isinstance(value, list):
        return [_walk(item, clean, printed=printed) for item in value]
    if isinstance(value, Mapping):
        inner = printed or _is_result(value)
        return {key: _walk(item, clean, printed=inner) for key, item in value.items()}
    return value


def _is_result(value: Mapping[str, Any]) -> bool:
    """Whether a part of a conversation is what a tool gave back."""
    kind = value.get("type")
    return (isinstance(kind, str) and kind.endswith(("tool_result", "_call_output"))) or value.get("role") == "tool"


def key_of(provider: str, path: str, content: Mapping[str, Any]) -> str:
    """The name of a request: the digest of where it goes and of its content, in hex."""
    text = json.dumps([provider, path, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def lines_of(content: Any) -> list[str]:
    """The content as lines for people: one per line of text, each with the place that it stands in."""
    return list(_lines(content, ""))


def _lines(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _lines(value[key], f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _lines(item, f"{at}[{number}]")
    elif isinstance(value, str):
        yield from (f"{at}: {line}" for line in value.split("\n"))
    else:
        yield f"{at}: {json.dumps(value)}"


MOST_LINES = 24
MOST_WIDTH = 200


def difference(recorded: Any, asked: Any) -> str:
    """A short unified diff between two contents: at most 24 lines of at most 200 characters."""
    found = difflib.unified_diff(lines_of(recorded), lines_of(asked), "recorded", "asked", lineterm="", n=1)
    lines = [_clip(line) for line in found]
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], *([f"... and {more} lines more"] if more > 0 else [])])


def _clip(line: str) -> str:
    if not line.isprintable():
        line = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)
    return line if len(line) <= MOST_WIDTH else f"{line[: MOST_WIDTH - 3]}..."
