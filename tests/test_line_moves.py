"""Where lines lie after a diff: held against difflib's and git's own account of the same change."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, strategies as st

from pytest_crab.line_moves import LineMoves

OLD = [f"line {n}" for n in range(1, 21)]


def diff(old: list[str], new: list[str], *, context: int = 3, name: str = "b/x.py") -> str:
    lines = difflib.unified_diff(
        [f"{line}\n" for line in old], [f"{line}\n" for line in new], "a/x.py", name, n=context
    )
    return "".join(lines)


REPLACED = [*OLD[:4], "a", "b", "c", *OLD[5:]]  # line 5 is three lines now
SHORTER = [*OLD[:9], *OLD[12:]]  # lines 10 to 12 are gone
LONGER = [*OLD[:2], "new", *OLD[2:]]  # one line behind line 2


@pytest.mark.parametrize(
    ("new", "lines", "moved"),
    [
        (REPLACED, (4, 4), (4, 4)),
        (REPLACED, (5, 5), (5, 7)),
        (REPLACED, (4, 6), (4, 8)),
        (REPLACED, (20, 20), (22, 22)),
        (SHORTER, (9, 9), (9, 9)),
        (SHORTER, (11, 11), (10, 10)),
        (SHORTER, (11, 14), (10, 11)),
        (LONGER, (2, 3), (2, 4)),
        (LONGER, (3, 3), (4, 4)),
        (OLD[5:], (1, 3), (1, 1)),
    ],
)
def test_lines_move_with_what_stands_around_them(
    new: list[str], lines: tuple[int, int], moved: tuple[int, int]
) -> None:
    assert LineMoves(diff(OLD, new)).move("x.py", lines) == ("x.py", moved)


@pytest.mark.parametrize(
    ("new", "lines", "touched"),
    [
        (REPLACED, (5, 5), True),
        (REPLACED, (1, 5), True),
        (REPLACED, (6, 9), False),
        (SHORTER, (12, 15), True),
        (SHORTER, (13, 15), False),
        (LONGER, (2, 2), True),
        (LONGER, (3, 3), True),
        (LONGER, (4, 4), False),
        (LONGER, None, True),
    ],
)
@pytest.mark.parametrize("context", [0, 3])
def test_a_diff_touches_what_it_changes_and_where_it_adds(
    new: list[str], lines: tuple[int, int] | None, context: int, *, touched: bool
) -> None:
    moves = LineMoves(diff(OLD, new, context=context))
    assert moves.touches("x.py", lines) is touched
    assert not moves.touches("y.py", lines)


def test_a_file_that_is_not_in_the_diff_stays_and_a_removed_one_is_gone() -> None:
    assert LineMoves(diff(OLD, LONGER)).move("y.py", (3, 4)) == ("y.py", (3, 4))
    assert LineMoves("").move("y.py", None) == ("y.py", None)
    gone = f"diff --git a/x.py b/x.py\ndeleted file mode 100644\n{diff(OLD, [], name='/dev/null')}"
    assert LineMoves(gone).move("x.py", (1, 1)) is None
    renamed = f"diff --git a/x.py b/z.py\nrename from x.py\nrename to z.py\n{diff(OLD, LONGER, name='b/z.py')}"
    assert LineMoves(renamed).move("x.py", (3, 3)) == ("z.py", (4, 4))


@given(st.lists(st.integers(0, 30), min_size=1, unique=True), st.lists(st.integers(0, 60), unique=True))
def test_a_kept_line_is_found_where_it_lies(old: list[int], new: list[int]) -> None:
    before, after = [f"{n}" for n in sorted(old)], [f"{n}" for n in sorted(new)]
    if before == after:
        return
    moves = LineMoves(diff(before, after))
    for at, line in enumerate(before, 1):
        if line in after:
            place = after.index(line) + 1
            assert moves.move("x.py", (at, at)) == ("x.py", (place, place))
        else:
            assert moves.touches("x.py", (at, at))
