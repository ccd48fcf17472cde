"""Parts of a pull request that are shown whole or not at all: files of a diff by weight, and what fits a budget."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_crab.clients.prompting import shown_diff
from pytest_crab.diffs import parse_hunks, split_files

#: How many characters a token has on average; no model's own way to count is used.
CHARACTERS_PER_TOKEN = 4

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|spec)/|(?:^|/)(?:test_[^/]+|conftest)\.py$|_test\.(?:go|py)$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|Tests?\.(?:java|kt|cs)$"
)
_LOGIC = re.compile(r"\b(?:if|else|elif|for|while|switch|case|return|raise|throw|try|catch|except|await|match)\b")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*)")
_FUNCTION = re.compile(r"\s*(?:export\s+)?(?:async\s+)?(?:def|func|function|fn)\s|.*\)\s*(?:=>\s*)?\{\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A text that is shown whole or left out."""

    #: The name that stands for the text where it is left out.
    name: str
    text: str

    @property
    def tokens(self) -> int:
        """About how many tokens the text has, with the empty line behind it."""
        return count_tokens(f"{self.text}\n\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff(Part):
    """The diff of one file."""

    #: The number of its added and removed lines.
    changed: int
    #: How many of the changed lines are a comment.
    comments: int
    #: How many of them open a function.
    functions: int
    #: How many of them decide something.
    logic: int

    @property
    def is_test(self) -> bool:
        """Return whether the file is one of tests, by its path."""
        return is_test(self.name)


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def is_test(path: str) -> bool:
    """Return whether a path is one of tests by the habits of Python, JavaScript, TypeScript, Go and Java."""
    return _TEST.search(path) is not None


def file_diffs(diff: str) -> Iterator[FileDiff]:
    """Yield the diff of each file, without those that configure coding agents. Raises ValueError for no git diff."""
    for part in split_files(shown_diff(diff, note=False)):
        for file, hunks in parse_hunks(part.text):
            lines = [line.text for hunk in hunks for line in hunk.lines if line.mark in "+-"]
            yield FileDiff(
                name=file.path,
                text=part.text.rstrip("\n"),
                changed=len(lines),
                comments=sum(_COMMENT.match(line) is not None for line in lines),
                functions=sum(_FUNCTION.match(line) is not None for line in lines),
                logic=sum(_LOGIC.search(line) is not None for line in lines),
            )


def fit(parts: Iterable[Part], budget: int, most: int | None = None) -> tuple[list[Part], list[Part]]:
    """Return the parts that fit ``budget`` tokens together, at most ``most``, and those that are left out, in order.

    A part that does not fit is left out whole, and a later one may still fit.
    """
    kept: list[Part] = []
    left_out: list[Part] = []
    for part in parts:
        room = part.tokens <= budget and (most is None or len(kept) < most)
        (kept if room else left_out).append(part)
        budget -= part.tokens if room else 0
    return kept, left_out
