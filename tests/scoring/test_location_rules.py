"""Each rule by location against one written down here from the texts alone, on random pull requests.

``paper`` is section C.1 of arXiv 2601.19494, with ``paper-k1`` one line further. The releases' rules are those of the
benchmark's repository in January and of its leaderboard in July 2026, as told in words.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from pytest_crab.scoring.location import RULES, Place
from pytest_crab.types import Side


class Remark(NamedTuple):
    path: str | None
    side: str | None
    lines: tuple[int, int] | None
    concern: int


Pairs = tuple[int, int]


def on_one_line(one: Remark, other: Remark, slack: int) -> bool:
    if one.lines is None or other.lines is None:
        return True
    wider = set(range(one.lines[0] - slack, one.lines[1] + slack + 1))
    return not wider.isdisjoint(range(other.lines[0], other.lines[1] + 1))


def most_pairs(allowed: list[set[int]]) -> int:
    """The most rows that can each have a column of their own: every choice is tried."""
    best = 0
    for choice in itertools.product(*[[*columns, None] for columns in allowed]):
        taken = [column for column in choice if column is not None]
        if len(set(taken)) == len(taken):
            best = max(best, len(taken))
    return best


def by_paper(slack: int, findings: list[Remark], comments: list[Remark]) -> Pairs:
    def here(one: Remark, other: Remark) -> bool:
        known = one.path is not None and one.path == other.path and one.side == other.side
        return known and on_one_line(one, other, slack)

    line = [{n for n, other in enumerate(comments) if here(one, other)} for one in findings]
    both = [{n for n in own if comments[n].concern == one.concern} for one, own in zip(findings, line, strict=True)]
    return most_pairs(line), most_pairs(both)


def in_release(one: Remark, other: Remark) -> bool:
    paths = {one.path, other.path} - {None}
    sides = {one.side, other.side} - {None}
    return len(paths) < 2 and len(sides) < 2 and on_one_line(one, other, 1)


def by_january(findings: list[Remark], comments: list[Remark]) -> Pairs:
    # no comment has an id, so the first one that is used makes all of them used
    pairs = [(one, other) for one in findings for other in comments if in_release(one, other)]
    return int(bool(pairs)), int(any(one.concern == other.concern for one, other in pairs))


def by_july(findings: list[Remark], comments: list[Remark]) -> Pairs:
    free_by_line, free_by_concern = set(range(len(findings))), set(range(len(findings)))
    line = semantic = 0
    for other in comments:
        placed = False
        for at, one in enumerate(findings):
            if not in_release(one, other):
                continue
            if not placed and at in free_by_line:
                free_by_line.remove(at)
                placed, line = True, line + 1
            if at in free_by_concern and one.concern == other.concern:
                free_by_concern.remove(at)
                semantic += 1
                break
    return line, semantic


INDEPENDENT: dict[str, Callable[[list[Remark], list[Remark]], Pairs]] = {
    "paper": lambda findings, comments: by_paper(0, findings, comments),
    "paper-k1": lambda findings, comments: by_paper(1, findings, comments),
    "release-2026-01": by_january,
    "release-2026-07": by_july,
}


def some_remarks(source: random.Random, most: int) -> list[Remark]:
    def lines() -> tuple[int, int] | None:
        first = source.randint(1, 12)
        return None if source.random() < 0.1 else (first, first + source.choice([0, 0, 1, 3]))

    return [
        Remark(
            source.choice(["a", "a", "b", None]), source.choice(["left", "right", None]), lines(), source.randint(0, 2)
        )
        for _ in range(source.randint(0, most))
    ]


def place(remark: Remark) -> Place:
    return Place(path=remark.path, lines=remark.lines, side=None if remark.side is None else Side(remark.side))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_random_reviews_match_as_in_the_text(rule: str) -> None:
    source = random.Random(rule)
    for _ in range(300):
        findings, comments = some_remarks(source, 5), some_remarks(source, 5)
        found = RULES[rule].match(
            list(map(place, findings)),
            list(map(place, comments)),
            lambda one, other, f=findings, c=comments: f[one].concern == c[other].concern,  # type: ignore[misc]
        )
        assert (len(found.line), len(found.semantic)) == INDEPENDENT[rule](findings, comments), (findings, comments)
        for one, other in {*found.line, *found.semantic}:
            assert RULES[rule].at_place(place(findings[one]), place(comments[other]))
        assert all(findings[one].concern == comments[other].concern for one, other in found.semantic)
