"""Matching of findings and comments by place: AACR-Bench's rules (arXiv 2601.19494, appendix C.1), each by its name.

``paper`` is the rule of the text. The two releases compute something else; they are offered under their names only, so
that their published numbers can be reproduced.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.statistics.matching import largest_matching
from pytest_crab.types import Side

#: Says whether the finding at the first place and the comment at the second raise the same concern.
SameConcern = Callable[[int, int], bool]

#: How many lines may lie between a finding and a comment in the two releases.
RELEASE_DISTANCE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a finding or a comment: ``lines`` are 1-based and inclusive on ``side``; None is not stated."""

    path: str | None = None
    lines: tuple[int, int] | None = None
    side: Side | None = Side.RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The matches of one review: pairs of a finding's and a comment's position, by place and by place and concern."""

    line: tuple[tuple[int, int], ...]
    semantic: tuple[tuple[int, int], ...]


def distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how far two ranges of lines lie apart: 0 if they overlap, 1 if they are adjacent."""
    return max(0, one[0] - other[1], other[0] - one[1])


def overlaps(finding: Place, comment: Place) -> bool:
    """Return whether path and side are equal and the lines overlap; a place without lines is its whole file."""
    if finding.path is None or (finding.path, finding.side) != (comment.path, comment.side):
        return False
    return finding.lines is None or comment.lines is None or distance(finding.lines, comment.lines) == 0


def near(finding: Place, comment: Place) -> bool:
    """Return whether two places are one in the releases: what either does not state is equal to anything."""
    if finding.path and comment.path and finding.path != comment.path:
        return False
    if finding.side is not None and comment.side is not None and finding.side != comment.side:
        return False
    return finding.lines is None or comment.lines is None or distance(finding.lines, comment.lines) <= RELEASE_DISTANCE


def match_by_paper(findings: Sequence[Place], comments: Sequence[Place], same: SameConcern) -> Matches:
    """Match one to one, as many as possible: overlapping lines; for ``semantic`` the same concern as well."""
    line = {
        at: [number for number, comment in enumerate(comments) if overlaps(finding, comment)]
        for at, finding in enumerate(findings)
    }
    semantic = {at: [number for number in numbers if same(at, number)] for at, numbers in line.items()}
    return Matches(line=tuple(largest_matching(line).items()), semantic=tuple(largest_matching(semantic).items()))


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


#: The rules by name.
RULES: dict[str, Callable[[Sequence[Place], Sequence[Place], SameConcern], Matches]] = {
    "paper": match_by_paper,
    "release-2026-01": match_by_january,
    "release-2026-07": match_by_leaderboard,
}
