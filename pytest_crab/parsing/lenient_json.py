"""Reads JSON as models write it: with comments, trailing commas, single quotes, bare keys or Python's constants."""

from __future__ import annotations

import json
import re
from typing import Any

#: Nested deeper than this is no answer of a model.
_DEEPEST = 40

_TOKEN = re.compile(
    r"""(?P<blank>(?:\s|\\[nrt]|//[^\n]*|\#[^\n]*|/\*.*?\*/)+)
    | (?P<double>"(?:\\.|[^"\\])*") | (?P<single>'(?:\\.|[^'\\])*')
    | (?P<mark>[\[\]{}:,]) | (?P<word>[\w.+-]+)""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": "true", "false": "false", "True": "true", "False": "false"} | dict.fromkeys(
    ("null", "None", "undefined", "NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"), "null"
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\"", re.DOTALL)
#: Brackets that open and hold nothing yet, deeper than any answer.
_ABYSS = re.compile(rf"[\[{{]{{{_DEEPEST + 1}}}")
_PAIRS = {"]": "[", "}": "{"}
_STRICT = json.JSONDecoder(strict=False, parse_constant=lambda _name: None)


class Unreadable(ValueError):
    """No value begins there; ``cut``: the text ends before the value does. ``read`` is how far that was to see."""

    def __init__(self, *, cut: bool, read: int = 1) -> None:
        super().__init__("the text ends within it" if cut else "it is no JSON")
        self.cut = cut
        self.read = read


def decode(text: str, start: int) -> tuple[Any, int]:
    """Return the array or object that begins at ``start``, and the place behind it. Raises Unreadable.

    A number that is none (NaN) is null, and a backslash that escapes nothing is one, as in Windows' paths.
    """
    if _ABYSS.match(text, start):
        raise Unreadable(cut=False)
    try:
        return _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        mended, end = _mend(text, start)
    try:
        return _STRICT.decode(mended), end
    except (ValueError, RecursionError):
        raise Unreadable(cut=False) from None


def _mend(text: str, start: int) -> tuple[str, int]:
    """The value at ``start`` as strict JSON, and the place behind it. Raises Unreadable."""
    out: list[str] = []
    depth: list[str] = []
    at = start
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            open_end = text[at] in "\"'" or text.startswith("/*", at)
            raise Unreadable(cut=open_end, read=(len(text) if open_end else at) - start)
        at = token.end()
        if token.lastgroup == "mark":
            _mark(token[0], out, depth)
            if not depth:
                return "".join(out), at
        elif token.lastgroup != "blank":
            out.append(_value(token))
        if len(out) > 1 and out[-2].startswith("\0"):
            raise Unreadable(cut=False, read=at - start)
    raise Unreadable(cut=True, read=at - start)


def _mark(mark: str, out: list[str], depth: list[str]) -> None:
    """Add a bracket, colon or comma; a comma before a closing bracket goes. Raises Unreadable."""
    if mark in _PAIRS:
        if not depth or depth.pop() != _PAIRS[mark]:
            raise Unreadable(cut=False)
        if out[-1] == ",":
            out.pop()
    elif mark in "[{":
        depth.append(mark)
        if len(depth) > _DEEPEST:
            raise Unreadable(cut=False)
    elif mark == ":" and out[-1].startswith("\0"):
        out[-1] = json.dumps(out[-1][1:])
    out.append(mark)


def _value(token: re.Match[str]) -> str:
    """A string, number or constant as JSON has it; any other word is marked, since only a colon makes it a key."""
    word = token[0]
    if token.lastgroup == "word":
        return word if _NUMBER.fullmatch(word) else _WORDS.get(word, f"\0{word}")
    return f'"{_ESCAPE.sub(_escape, word[1:-1])}"'


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if code is None:
        return '\\"'
    if code == "'":
        return "'"
    if code[0] == "x" and len(code) > 1:
        return f"\\u00{code[1:]}"
    return match[0] if code[0] in '"\\/bfnrt' or len(code) > 1 else f"\\\\{code}"
