from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from pytest_crab.scoring.location import RULES, Matches, Place, near, overlaps
from pytest_crab.types import Side

LINES = st.tuples(st.integers(1, 9), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))
PLACES = st.builds(
    Place, path=st.sampled_from(["a.c", "b.c"]), lines=st.none() | LINES, side=st.sampled_from(list(Side))
)


def at(first: int, last: int | None = None, path: str | None = "a.c", side: Side | None = Side.RIGHT) -> Place:
    return Place(path=path, lines=(first, last or first), side=side)


def match(rule: str, findings: list[Place], comments: list[Place]) -> Matches:
    return RULES[rule].match(findings, comments, lambda _finding, _comment: True)


@pytest.mark.parametrize(
    ("finding", "comment", "paper", "release"),
    [
        (at(1, 2), at(2, 4), True, True),
        (at(1, 2), at(3, 4), False, True),
        (at(1, 2), at(4, 5), False, False),
        (at(9), at(1, 8), False, True),
        (at(1), at(1, path="b.c"), False, False),
        (at(1), at(1, side=Side.LEFT), False, False),
        (Place(path="a.c"), at(7), True, True),
        (at(1, path=None), at(1), False, True),
        (at(1, side=None), at(1), False, True),
    ],
)
def test_where_two_places_are_one(finding: Place, comment: Place, *, paper: bool, release: bool) -> None:
    assert (overlaps(finding, comment), near(finding, comment)) == (paper, release)


def test_the_paper_pairs_as_many_as_possible() -> None:
    # in the order of the findings, the first would take the only comment that the second can have
    findings, comments = [at(1, 9), at(1)], [at(1), at(8)]
    assert set(match("paper", findings, comments).line) == {(0, 1), (1, 0)}


@given(st.lists(PLACES, max_size=4), st.lists(PLACES, max_size=4))
def test_no_other_one_to_one_matching_has_more_pairs(findings: list[Place], comments: list[Place]) -> None:
    def pairs(order: tuple[int | None, ...]) -> int:
        chosen = [(one, comments[number]) for one, number in zip(findings, order, strict=True) if number is not None]
        return sum(
            finding.path == comment.path
            and finding.side is comment.side
            and (
                None in (finding.lines, comment.lines)
                or bool(
                    set(range(finding.lines[0], finding.lines[1] + 1))  # type: ignore[index]
                    & set(range(comment.lines[0], comment.lines[1] + 1))  # type: ignore[index]
                )
            )
            for finding, comment in chosen
        )

    slots = [*range(len(comments)), *[None] * len(findings)]
    best = max(pairs(order) for order in set(itertools.permutations(slots, len(findings))))
    found = match("paper", findings, comments)
    assert len(found.line) == len(found.semantic) == best
    assert len({finding for finding, _ in found.line}) == len({comment for _, comment in found.line}) == best


def test_the_january_release_matches_once_in_a_pull_request() -> None:
    places = [at(1), at(20), at(40)]
    assert match("release-2026-01", places, places) == Matches(line=((0, 0),), semantic=((0, 0),))


def test_the_leaderboard_looks_for_each_comment_and_uses_a_finding_once() -> None:
    findings, comments = [at(1, 9), at(1)], [at(1), at(8)]
    assert match("release-2026-07", findings, comments).line == ((0, 0),)  # the second comment lies 7 from line 1
    assert match("release-2026-07", [at(1), at(2)], [at(1), at(2)]).line == ((0, 0), (1, 1))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_another_concern_at_the_same_place_is_a_match_by_line_only(rule: str) -> None:
    found = RULES[rule].match([at(1)], [at(1)], lambda _finding, _comment: False)
    assert (len(found.line), found.semantic) == (1, ())


@pytest.mark.parametrize("rule", sorted(RULES))
def test_an_empty_review_matches_nothing(rule: str) -> None:
    assert match(rule, [], [at(1)]) == match(rule, [at(1)], []) == Matches(line=(), semantic=())
