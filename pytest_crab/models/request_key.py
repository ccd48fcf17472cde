"""The key of a request: the digest of its content, without what differs between homes, dates and attempts."""

from __future__ import annotations

import difflib
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_crab.text import cut, escape_controls

#: The tokens that the gateway gives out.
TOKEN = re.compile(r"crab-[A-Za-z0-9_-]{43}")

#: Top-level fields that say who asks and how it is cached, not what is asked.
DROPPED = frozenset({"metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata", "store"})

_DAY = (
    r"(?:\d{4}[-/]\d{2}[-/]\d{2}"  # 2026-11-22
    r"|(?:[A-Z][a-z]+,? )?[A-Z][a-z]+ \d{1,2},? \d{4}"  # Sunday, November 22, 2026
    r"|(?:[A-Z][a-z]+,? )?\d{1,2} [A-Z][a-z]+ \d{4})"  # 22 November 2026
)

_Taken = tuple[tuple[str, re.Pattern[str], str], ...]

#: Taken from all texts: tokens, and a run's scratch folders, as paths and as claude-code spells paths in its folders.
#: First a text without which the pattern cannot fit: requests are long, and most of them hold none of these.
_EVERYWHERE: _Taken = (
    ("crab-", TOKEN, "<token>"),
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
)

#: What says when and on what machine a client runs is taken only from where clients put it: a pull request may say
#: the same: from texts of a conversation that begin like this,
_OPENINGS: Mapping[str, re.Pattern[str]] = {
    "<system-reminder>": re.compile(rf"(?m)(^Today's date is ){_DAY}(?=\.?$)"),
    "<environment_context>": re.compile(
        rf"(<current_date>){_DAY}(?=</current_date>)|(<timezone>)[\w/+:-]{{1,60}}(?=</timezone>)"
    ),
}
#: from the line of pr-agent that stands before the pull request,
_FIRST_DATE = re.compile(rf"(?m)(^Today's Date: ){_DAY}$")
#: and from what is no conversation: the instructions and the descriptions of tools.
_INSTRUCTIONS: _Taken = (
    ("Today's date is ", re.compile(rf"(Today's date is ){_DAY}"), r"\1<date>"),
    ("The current month is", re.compile(r"(The current month is) [A-Z][a-z]+ \d{4}"), r"\1 <month>"),
    ("x-anthropic-billing-header:", re.compile(r"(\Ax-anthropic-billing-header:)[^\n]*"), r"\1 <billing>"),
    ("OS Version:", re.compile(r"(?m)^(\s*-?\s*OS Version:).*$"), r"\1 <os>"),
)
_CONVERSATION = ("messages", "input")

#: Names that are made at random; equal ones get equal numbers, so that what belongs together still does. They are known
#: by the fields that hold them, never by their looks alone: code is full of words like call_function.
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_RANDOM = re.compile(rf"(?:[a-z]{{2,10}}[_-])?(?:{_UUID}|[A-Za-z0-9_-]{{8,}})")
_ANY_UUID = re.compile(rf"\b{_UUID}\b")
_NAMED = ("id", "call_id", "item_id", "tool_call_id", "tool_use_id", "previous_response_id")
_NAMING = ("messages", "input", "content", "tool_calls")

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
    who = [body[name] for name in DROPPED if name in body]
    known = {*_names_in(body), *(_ANY_UUID.findall(json.dumps(who)) if who else ())}
    longest_first = "|".join(map(re.escape, sorted(known, reverse=True)))
    pattern_of_names = re.compile(rf"(?<![\w-])(?:{longest_first})(?![\w-])")

    def number(found: re.Match[str]) -> str:
        return names.setdefault(found.group(), f"<id {len(names) + 1}>")

    def clean(text: str, *, printed: bool, said: bool) -> str:
        text = _without_date(_replace(text, _EVERYWHERE)) if said else _replace(text, (*_EVERYWHERE, *_INSTRUCTIONS))
        if known:
            text = pattern_of_names.sub(number, text)
        if not printed:
            return text
        for pattern, stand_in in _PRINTED:
            text = pattern.sub(stand_in, text)
        return _ANY_UUID.sub(number, text)

    return {
        name: _walk(value, functools.partial(clean, said=name in _CONVERSATION), printed=False)
        for name, value in body.items()
        if name not in DROPPED
    }


def _replace(text: str, taken: _Taken) -> str:
    for needed, pattern, stand_in in taken:
        if needed in text:
            text = pattern.sub(stand_in, text)
    return text


def _without_date(text: str) -> str:
    """Return a text of a conversation without the date that a client put into it."""
    for opening, pattern in _OPENINGS.items():
        if text.startswith(opening):
            return pattern.sub(_date_stand_in, text)
    return _FIRST_DATE.sub(r"\1<date>", text, count=1) if "Today's Date: " in text else text


def _date_stand_in(found: re.Match[str]) -> str:
    tag = next(group for group in found.groups() if group is not None)
    return f"{tag}{'<zone>' if tag == '<timezone>' else '<date>'}"


def _names_in(value: Any) -> Iterator[str]:
    """The random names of a conversation's parts, from the fields that hold such; what tools are given is left out."""
    if isinstance(value, list):
        for part in value:
            yield from _names_in(part)
    elif isinstance(value, Mapping):
        for field in _NAMED:
            name = value.get(field)
            if isinstance(name, str) and _RANDOM.fullmatch(name):
                yield name
        for field in _NAMING:
            if isinstance(value.get(field), list):
                yield from _names_in(value[field])


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
    """Return whether a part of a conversation is the result of a tool."""
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


#: The digest in the lines around the data of our prompts, and in the sentence that names them.
_MARK = re.compile(
    r"(?<=----- begin )[0-9a-f]{16}(?= -----)|(?<=----- end )[0-9a-f]{16}(?= -----)|(?<=carry the mark )[0-9a-f]{16}"
)

MOST_LINES = 24
MOST_WIDTH = 200


def difference(recorded: Any, asked: Any) -> str:
    """A short unified diff between two contents: at most 24 lines of at most 200 characters.

    Our prompts mark data with its own digest; that differs with the data and says nothing, so it is left out.
    """
    before, after = ([_MARK.sub("<mark>", line) for line in lines_of(each)] for each in (recorded, asked))
    if before == after:
        before, after = lines_of(recorded), lines_of(asked)
    found = difflib.unified_diff(before, after, "recorded", "asked", lineterm="", n=1)
    lines = [_clip(line) for line in found]
    more = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], *([f"... and {more} lines more"] if more > 0 else [])])


def _clip(line: str) -> str:
    return cut(escape_controls(line), MOST_WIDTH)
