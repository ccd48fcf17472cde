"""The numbers that subjects of merges and squashes name."""

from __future__ import annotations

import pytest

from pytest_crab.sources.squashes import named_pull


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("Merge pull request #12 from someone/branch", 12),
        ("Merged in branch-of-mine (pull request #7)", 7),
        ("Sums are right (#31)", 31),
        ("Sums are right (pull request #31)", 31),
        ("Sums are right, see (#31) and others", None),
        ("Merge branch 'main' into #31", None),
        ("Merge pull requests", None),
    ],
)
def test_the_number_is_read_where_the_subject_says_that_it_is_one(subject: str, number: int | None) -> None:
    assert named_pull(subject) == number
