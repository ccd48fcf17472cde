"""The share of near misses by which an oracle is kept or left out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_crab.injection.stages import looseness
from pytest_crab.types import ChangeKind, JudgedChange


def judged(answers: Sequence[bool | None]) -> list[JudgedChange]:
    """Near misses, each with whether the oracle refused it; None: it is not known."""
    return [
        JudgedChange(kind=ChangeKind.MUTANT, name=f"m{at}", why=f"{at} of it", diff="", held=held, fresh=False)
        for at, held in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "least", "kept"),
    [
        ([True, True, True, False], 0.75, True),
        ([True, True, False], 0.75, False),
        ([True, None, None], 0.75, True),
        ([True, True, False, None], 0.75, False),
        ([None], 1, True),
        ([], 1, True),
        ([False], 0, True),
    ],
)
def test_an_oracle_is_kept_by_the_share_that_it_refuses(
    answers: Sequence[bool | None],
    least: float,
    kept: bool,  # noqa: FBT001
) -> None:
    assert (looseness(judged(answers), least) is None) is kept


def test_a_rejection_says_what_was_accepted() -> None:
    loose = looseness(judged([True, False]), 0.75)
    assert loose is not None
    assert "1 of 2" in loose.detail
    assert "1 of it" in loose.detail
