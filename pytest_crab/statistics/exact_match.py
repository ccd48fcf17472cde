"""Exact match of a revised piece of code with the reference, in the four variants of CodeReviewQA's release.

They differ in what they overlook: nothing but white space between words (``em``), lines around the reference
(``em_trim``), all white space (``em_no_space``), and comments (``em_no_comment``).
"""

from __future__ import annotations

import re

VARIANTS = ("em", "em_trim", "em_no_space", "em_no_comment")

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)


def exact_matches(text: str, reference: str) -> dict[str, bool]:
    """Return, by variant, whether a text is the reference."""
    words, wanted = text.split(), reference.split()
    return {
        "em": words == wanted,
        "em_trim": _has_run(_lines(text), _lines(reference)),
        "em_no_space": "".join(words) == "".join(wanted),
        "em_no_comment": _COMMENTS.sub("", text).split() == _COMMENTS.sub("", reference).split(),
    }


def _lines(text: str) -> list[tuple[str, ...]]:
    return [words for line in text.splitlines() if (words := tuple(line.split()))]


def _has_run(lines: list[tuple[str, ...]], wanted: list[tuple[str, ...]]) -> bool:
    """Return whether ``wanted`` stands in ``lines`` without a gap."""
    count = len(wanted)
    return any(lines[start : start + count] == wanted for start in range(len(lines) - count + 1))
