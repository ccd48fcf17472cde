"""Finds the JSON values in a model's answer, behind its thinking and between its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_crab.parsing.lenient_json import Unreadable, decode

_NAMES = r"(?:antml:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|seed:think)"
#: How blocks of thinking begin and end; in backticks they are words of the answer.
_BEGINS = rf"(?<!(?<!`)`)(?:<{_NAMES}(?:\s[^<>]*)?>|◁think▷|\[THINK\]|<\|channel\|>analysis<\|message\|>)"
_ENDS = rf"(?<!(?<!`)`)(?:</{_NAMES}\s*>|◁/think▷|\[/THINK\]|<\|channel\|>final<\|message\|>)"
_END = re.compile(_ENDS, re.IGNORECASE)
_NEXT = re.compile(rf"(?P<begins>{_BEGINS})|(?P<ends>{_ENDS})|[\[{{]", re.IGNORECASE)
#: Letters that are read in vain, over and over, before an answer is given up: one made to be slow ends too.
_MOST_EFFORT, _LEAST_EFFORT = 20_000_000, 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPiece:
    """An array or object in an answer, or a place where one begins that cannot be read."""

    #: Where it begins.
    start: int
    #: Where it ends.
    end: int
    value: Any = None
    readable: bool = True
    #: Whether the answer ends within it.
    cut: bool = False
    #: Whether what begins there is a block of thinking that does not end.
    thinking: bool = False


def pieces(text: str) -> list[JsonPiece]:
    """Return the values that lie in no other one, and what cannot be read, in order; without those of thinking.

    Where a block of thinking ends that has not begun, all that stands before its end is thinking.
    """
    found: list[JsonPiece] = []
    for piece in _pieces(text):
        if piece is None:
            found.clear()
        else:
            found.append(piece)
    return found


def _pieces(text: str) -> Iterator[JsonPiece | None]:
    """The same with the thinking's; None: all before it was thinking."""
    at = effort = 0
    while (here := _NEXT.search(text, at)) is not None:
        start, at = here.start(), here.end()
        if here["begins"]:
            ended = _END.search(text, at)
            if ended is None:
                yield JsonPiece(start=start, end=len(text), readable=False, cut=True, thinking=True)
                return
            at = ended.end()
        elif here["ends"]:
            yield None
        else:
            try:
                value, at = decode(text, start)
                yield JsonPiece(start=start, end=at, value=value)
            except Unreadable as why:
                at = start + 1
                yield JsonPiece(start=start, end=at, readable=False, cut=why.cut)
                effort += _LEAST_EFFORT + why.read
                if effort > _MOST_EFFORT:
                    yield JsonPiece(start=at, end=len(text), readable=False, cut=True)
                    return


def stands_alone(text: str, piece: JsonPiece) -> bool:
    """Return True if only fences share a value's lines, or words with a colon before a value that ends the answer."""
    before = text[text.rfind("\n", 0, piece.start) + 1 : piece.start]
    after = text[piece.end :].partition("\n")[0]
    if not re.fullmatch(r"[\s`*.;]*", after):
        return False
    if re.fullmatch(r"[\s`*>\ufeff-]*(?:json)?\s*", before):
        return True
    return not text[piece.end :].strip(" \t\r\n`*.;") and re.search(r":[\s`*]*$", before) is not None
