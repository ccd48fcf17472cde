"""Reads one YAML file into texts, lists and mappings: nothing is typed, evaluated, shared or taken from elsewhere."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from pytest_crab.errors import BadInput

#: More than any file that a person wrote needs.
MOST_BYTES = 1 << 20
MOST_DEPTH = 32

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _RefusalError(Exception):
    """The file cannot be read any further; its text is the sentence that says why."""


def read_document(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """Return the mapping that ``path`` holds; every scalar is a text. Raises BadInput with every fault found.

    With ``content``, what ``read_content`` returned, the file is not opened again.
    """
    problems: list[str] = []
    try:
        document = _document(_text(_content(path) if content is None else content), problems)
    except _RefusalError as refusal:
        problems.append(str(refusal))
        document = None
    if not problems and not isinstance(document, dict):
        problems.append("the file should hold one mapping of keys to values")
    if problems:
        raise BadInput(str(path), problems)
    assert isinstance(document, dict)
    return document


def read_content(path: Path) -> bytes:
    """Return the bytes of ``path``. Raises BadInput if it cannot be read or holds too many."""
    try:
        return _content(path)
    except _RefusalError as refusal:
        raise BadInput(str(path), [str(refusal)]) from None


def _content(path: Path) -> bytes:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would be waited for
        try:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode):
                raise _RefusalError("the file is a folder, a pipe or a device; it should be a readable file")
            # No more is asked for than is there: a buffer of the most that may be costs more than the reading.
            content = os.read(opened, min(found.st_size, MOST_BYTES) + 1)
        finally:
            os.close(opened)
    except OSError as error:
        raise _RefusalError(f"the file cannot be read ({error.strerror}); it should be a readable file") from None
    if len(content) > MOST_BYTES:
        raise _RefusalError(f"the file is larger than {MOST_BYTES >> 20} MiB; it should hold facts, not code")
    return content


def _text(content: bytes) -> str:
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _RefusalError(f"line {line} is not UTF-8; the file should be saved as UTF-8") from None


#: The mistakes that people make most, by the words of YAML's own parsers.
_ADVICE = {
    "tab character": "; indent with spaces and not tabs",
    "cannot start any token": "; indent with spaces and not tabs, and put a text that begins with a mark in quotes",
    "mapping values are not allowed": "; put a text that holds a colon and a space in quotes, or below a `|`",
    "expected ',' or": "; close the brace or bracket, or put a text that holds a colon, a comma, a brace or a bracket "
    "in quotes",
}


def _document(text: str, problems: list[str]) -> Any:
    try:
        loader = _LOADER(text)
        following: Callable[[], Any] = loader.get_event
        try:
            following()  # the stream's start
            if isinstance(following(), yaml.StreamEndEvent):
                return None
            document = _value(following(), following, problems, 0)
            following()
            if not isinstance(following(), yaml.StreamEndEvent):
                raise _RefusalError("the file holds a second document (after ---); it should hold one")
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1} " if mark else "the file "
        problem = str(error.problem or error.context)
        if "nesting depth" in problem:  # libyaml reads ahead, and newer ones have a limit of their own
            raise _RefusalError(f"{line}is nested more than {MOST_DEPTH} deep") from None
        advice = next((words for sign, words in _ADVICE.items() if sign in problem), "")
        raise _RefusalError(f"{line}is not YAML ({problem}){advice}") from None
    except yaml.YAMLError as error:
        raise _RefusalError(f"the file is not YAML ({' '.join(str(error).split())})") from None
    return document


def _value(event: Any, following: Callable[[], Any], problems: list[str], depth: int) -> Any:
    if type(event) is yaml.ScalarEvent and event.anchor is None and event.tag is None and depth <= MOST_DEPTH:
        return event.value  # nine out of ten
    if isinstance(event, yaml.AliasEvent):
        raise _RefusalError(f"line {_line(event)} holds an alias (*{event.anchor}); the value should be written out")
    if event.anchor is not None:
        raise _RefusalError(f"line {_line(event)} holds an anchor (&{event.anchor}); the value should be written out")
    if event.tag is not None:
        raise _RefusalError(f"line {_line(event)} holds a tag ({event.tag}); values here are plain, without tags")
    if depth > MOST_DEPTH:
        raise _RefusalError(f"line {_line(event)} is nested more than {MOST_DEPTH} deep")
    if isinstance(event, yaml.ScalarEvent):
        return event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := following(), yaml.SequenceEndEvent):
            items.append(_value(event, following, problems, depth + 1))
        return items
    return _mapping(following, problems, depth)


def _mapping(following: Callable[[], Any], problems: list[str], depth: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    while not isinstance(event := following(), yaml.MappingEndEvent):
        key = _value(event, following, problems, depth + 1)
        if not isinstance(key, str):
            raise _RefusalError(f"line {_line(event)} has a list or a mapping for a key; a key should be a text")
        if key == "<<" and not event.style:
            raise _RefusalError(f"line {_line(event)} holds a merge key (<<); the values should be written out")
        value = _value(following(), following, problems, depth + 1)
        if key in mapping:
            where = f"lines {_line(keys[key])} and {_line(event)}"
            problems.append(f"{key} stands twice in one mapping, on {where}; one should go")
        mapping[key] = value
        keys[key] = event
    return mapping


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
