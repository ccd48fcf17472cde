"""Exact match of a revised piece of code with the reference, in four variants (arXiv 2503.16167).

They differ in what they overlook: nothing but white space between words (``em``), lines around the reference
(``em_trim``), all white space (``em_no_space``), and comments (``em_no_comment``).

The rule ``release`` gives what the benchmark's release computes. There ``em_no_space`` and ``em_no_comment`` overlook
all white space and the lines around too, and ``em_trim`` looks for the reference at the wrong places: the lengths of
lines in characters are taken for numbers of words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from pytest_crab.text import split_lines

VARIANTS = ("em", "em_trim", "em_no_space", "em_no_comment")

RULES = PLAIN, RELEASE = ("plain", "release")

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_SLASHED = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_HASHED = re.compile(r"^\s*#[^\n]*", re.MULTILINE)


def exact_matches(text: str, reference: str, rule: str = PLAIN) -> dict[str, bool]:
    """Return, by variant, whether a text is the reference."""
    return _released(text, reference) if rule == RELEASE else _plain(text, reference)


def _plain(text: str, reference: str) -> dict[str, bool]:
    words, wanted = text.split(), reference.split()
    lines, run = _lines(text), _lines(reference)
    return {
        "em": words == wanted,
        "em_trim": _has_run(lines, run, range(len(lines) + 1)),
        "em_no_space": "".join(words) == "".join(wanted),
        "em_no_comment": _COMMENTS.sub("", text).split() == _COMMENTS.sub("", reference).split(),
    }


def _released(text: str, reference: str) -> dict[str, bool]:
    uncommented = (_HASHED.sub("", _SLASHED.sub("", each)) for each in (text, reference))
    return {
        "em": text.split() == reference.split(),
        "em_trim": _has_run(text.split(), reference.split(), _starts(text.split("\n"))),
        "em_no_space": _has_compact(text, reference),
        "em_no_comment": _has_compact(*uncommented),
    }


def _has_compact(text: str, reference: str) -> bool:
    """Return whether a line's start begins the reference, without any white space."""
    lines = ["".join(line.split()) for line in text.split("\n")]
    return _has_run("".join(lines), "".join(reference.split()), _starts(lines))


def _starts(lines: Iterable[str]) -> Iterable[int]:
    return itertools.accumulate(map(len, lines), initial=0)


def _lines(text: str) -> list[tuple[str, ...]]:
    return [words for line in split_lines(text) if (words := tuple(line.split()))]


def _has_run(whole: Sequence[object], wanted: Sequence[object], starts: Iterable[int]) -> bool:
    """Return whether ``wanted`` stands in ``whole`` at one of these places, without a gap."""
    return any(whole[start : start + len(wanted)] == wanted for start in starts)
