"""Which CPython is chosen for code of a day."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, strategies as st

from pytest_crab.ecosystems.interpreters import RELEASED
from pytest_crab.ecosystems.python.versions import choose

ALL = tuple(RELEASED)


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


@pytest.mark.parametrize(
    ("head", "requires", "classifiers", "wanted"),
    [
        ("2023-08-20", [], [], "3.10"),
        ("2021-02-06", [">=3.7"], ["3.7", "3.8", "3.9"], "3.8"),
        ("2017-01-25", [], [], "3.6"),
        ("2019-04-10", [">=2.7,!=3.0.*,!=3.1.*"], ["3.5", "3.6", "3.7"], "3.6"),
        ("2026-01-01", ["^3.8"], [], "3.13"),
        ("2024-01-01", ["~3.8"], [], "3.8"),
        ("2024-01-01", [">=3.9", "<3.11"], [], "3.10"),
        ("2018-01-01", [">=3.8.1"], [], "3.8"),
        ("2024-01-01", ["<3"], ["2.7"], "3.11"),
        ("2024-01-01", ["not a constraint"], [], "3.11"),
    ],
)
def test_the_newest_that_is_allowed_and_a_year_old(
    head: str, requires: list[str], classifiers: list[str], wanted: str
) -> None:
    assert choose(ALL, requires=requires, classifiers=classifiers, head=day(head)) == wanted


def test_a_year_is_365_days() -> None:
    released = RELEASED["3.11"]
    for days, wanted in ((364, "3.10"), (365, "3.11")):
        head = released + datetime.timedelta(days=days)
        assert choose(["3.10", "3.11"], requires=[], classifiers=[], head=head) == wanted


def test_only_what_is_at_hand_is_chosen() -> None:
    assert choose(["3.8", "3.12"], requires=[">=3.9"], classifiers=[], head=day("2020-01-01")) == "3.12"
    assert choose([], requires=[], classifiers=[], head=day("2020-01-01")) is None


@given(
    st.sets(st.sampled_from(ALL), min_size=1),
    st.dates(day("2015-01-01"), day("2030-01-01")),
    st.dates(day("2015-01-01"), day("2030-01-01")),
)
def test_later_code_never_gets_an_older_interpreter(
    at_hand: set[str], one: datetime.date, other: datetime.date
) -> None:
    first, second = (choose(at_hand, requires=[], classifiers=[], head=head) for head in sorted((one, other)))
    assert first is not None
    assert second is not None
    settled = min(RELEASED[version] for version in at_hand) + datetime.timedelta(days=365) <= min(one, other)
    assert not settled or RELEASED[first] <= RELEASED[second]
