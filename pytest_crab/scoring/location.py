"""Matching of findings and comments by place: AACR-Bench's rules (arXiv 2601.19494, appendix C.1), each by its name.

``paper`` is the rule of the text, ``paper-k1`` the same with one line of distance. The two releases compute something
else; they are offered under their names only, so that their published numbers can be reproduced.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from pytest_crab.statistics.matching import largest_matching
from pytest_crab.types import Finding, Side

#: Says whether the finding at the first place and the comment at the second raise the same concern.
SameConcern = Callable[[int, int], bool]

#: How many lines may lie between a finding and a comment in the two releases.
RELEASE_DISTANCE = 1


class Place(NamedTuple):
    """The place of a finding or a comment; None is not stated."""

    path: str | None = None
    #: The first and the last line on ``side``, counted from 1 and inclusive.
    lines: tuple[int, int] | None = None
    side: Side | None = Side.RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The matches of one review: pairs of a finding's and a comment's position."""

    #: Those by place.
    line: tuple[tuple[int, int], ...]
    #: Those by place and concern.
    semantic: tuple[tuple[int, int], ...]


def distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how far two ranges of lines lie apart: 0 if they overlap, 1 if they are adjacent."""
    return max(0, one[0] - other[1], other[0] - one[1])


def overlaps(finding: Place, comment: Place, most_apart: int = 0) -> bool:
    """Return whether path and side are equal and the lines overlap; a place without lines is its whole file.

    ``most_apart`` allows so many lines of distance.
    """
    if finding.path is None or (finding.path, finding.side) != (comment.path, comment.side):
        return False
    return finding.lines is None or comment.lines is None or distance(finding.lines, comment.lines) <= most_apart


def near(finding: Place, comment: Place) -> bool:
    """Return whether two places are one in the releases: what either does not state is equal to anything."""
    if finding.path and comment.path and finding.path != comment.path:
        return False
    if finding.side is not None and comment.side is not None and finding.side != comment.side:
        return False
    return finding.lines is None or comment.lines is None or distance(finding.lines, comment.lines) <= RELEASE_DISTANCE


def match_by_paper(
    findings: Sequence[Place], comments: Sequence[Place], same: SameConcern, *, most_apart: int = 0
) -> Matches:
    """Match one to one, as many as possible: overlapping lines; for ``semantic`` the same concern as well.

    The paper names no distance; ``most_apart`` allows one.
    """
    indexes = _line_indexes(tuple(comments))
    line = {
        at: numbers
        for at, finding in enumerate(findings)
        if (index := indexes.get((finding.path, finding.side))) is not None
        and (numbers := index.numbers_at(finding.lines, most_apart))
    }
    semantic = {at: [number for number in numbers if same(at, number)] for at, numbers in line.items()}
    return Matches(line=tuple(largest_matching(line).items()), semantic=tuple(largest_matching(semantic).items()))


@lru_cache(maxsize=1024)  # each review of an instance is held against the same comments
def _line_indexes(comments: tuple[Place, ...]) -> Mapping[tuple[str | None, Side | None], _LineIndex]:
    """Return the comments by their file and side, of those that name a file."""
    by_file: dict[tuple[str | None, Side | None], list[int]] = {}
    for number, comment in enumerate(comments):
        by_file.setdefault((comment.path, comment.side), []).append(number)
    return {file: _LineIndex(numbers, comments) for file, numbers in by_file.items() if file[0] is not None}


class _LineIndex:
    """The comments of one file by their lines, so that a review with very many findings need not look at each."""

    def __init__(self, numbers: Sequence[int], comments: Sequence[Place]) -> None:
        ranges = [(comments[number].lines, number) for number in numbers]
        self._anywhere = [number for lines, number in ranges if lines is None]
        self._sorted = sorted((lines[0], lines[1], number) for lines, number in ranges if lines is not None)
        self._starts = [start for start, _, _ in self._sorted]
        self._furthest = list(itertools.accumulate((end for _, end, _ in self._sorted), max))

    def numbers_at(self, lines: tuple[int, int] | None, most_apart: int) -> list[int]:
        """Return the comments whose lines are these or at most so far from them, in their order; None is any line."""
        found = list(self._anywhere)
        if lines is None:
            return sorted(found + [number for _, _, number in self._sorted])
        at = bisect.bisect_right(self._starts, lines[1] + most_apart)
        while at and self._furthest[at - 1] >= lines[0] - most_apart:
            at -= 1
            _, end, number = self._sorted[at]
            if end >= lines[0] - most_apart:
                found.append(number)
        return sorted(found)


def match_by_january(findings: Sequence[Place], comments: Sequence[Place], same: SameConcern) -> Matches:
    """Match as the release of January 2026 does, greedily in the order of the findings.

    It marks comments as used by their id, and no comment of the data has one. So after the first match of a pull
    request every comment counts as used, by place and by concern each.
    """
    line: list[tuple[int, int]] = []
    semantic: list[tuple[int, int]] = []
    for at, finding in enumerate(findings):
        for number, comment in enumerate(comments):
            if near(finding, comment):
                line += [(at, number)] if not line else []
                if not semantic and same(at, number):
                    semantic.append((at, number))
                    return Matches(line=tuple(line), semantic=tuple(semantic))
    return Matches(line=tuple(line), semantic=tuple(semantic))


def match_by_leaderboard(findings: Sequence[Place], comments: Sequence[Place], same: SameConcern) -> Matches:
    """Match as the leaderboard of July 2026 does, greedily in the order of the comments.

    A comment takes the first free finding by place and goes on until a finding has its concern; a finding counts once
    by place and once by concern.
    """
    line: dict[int, int] = {}
    semantic: dict[int, int] = {}
    for number, comment in enumerate(comments):
        matched = False
        for at in (at for at, finding in enumerate(findings) if near(finding, comment)):
            if not matched and at not in line:
                line[at], matched = number, True
            if at not in semantic and same(at, number):
                semantic[at] = number
                break
    return Matches(line=tuple(line.items()), semantic=tuple(semantic.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationRule:
    """One way to match."""

    match: Callable[[Sequence[Place], Sequence[Place], SameConcern], Matches]
    #: Which pairs it may match, so that their concerns are to be compared.
    at_place: Callable[[Place, Place], bool]
    #: Whether a comment without a path can have no match.
    needs_path: bool = False
    #: Whether neither an empty review nor the comments of its pull request count.
    drops_empty: bool = False


#: The rules by name.
RULES: dict[str, LocationRule] = {
    "paper": LocationRule(match=match_by_paper, at_place=overlaps, needs_path=True),
    "paper-k1": LocationRule(
        match=partial(match_by_paper, most_apart=1), at_place=partial(overlaps, most_apart=1), needs_path=True
    ),
    "release-2026-01": LocationRule(match=match_by_january, at_place=near, drops_empty=True),
    "release-2026-07": LocationRule(match=match_by_leaderboard, at_place=near),
}


def place_of_finding(finding: Finding) -> Place:
    """Return the place of a finding."""
    return Place(finding.path, finding.lines, finding.side)
