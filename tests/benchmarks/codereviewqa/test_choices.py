"""Answers in every order of the options: right in all of them, in how many, and with which letter."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, strategies as st

from pytest_crab.benchmarks.codereviewqa.choice_statistics import (
    chosen_options,
    is_invariant,
    plurality_agreement,
    probe_measures,
)


def by_hand(count: int, pick: int) -> str:
    """The letters of somebody who always picks the option that was ``pick``-th before it was moved."""
    return "".join("ABCD"[order.index(pick)] for order in itertools.permutations(range(count)))


@pytest.mark.parametrize("count", [3, 4])
def test_who_always_picks_one_option_is_invariant_only_for_the_correct_one(count: int) -> None:
    for pick in range(count):
        chosen = chosen_options(by_hand(count, pick))
        assert chosen == [pick] * math.factorial(count)
        assert is_invariant(chosen) is (pick == 0)
        assert plurality_agreement(chosen) == 1.0


@pytest.mark.parametrize(("count", "letter"), [(3, "A"), (3, "C"), (4, "A"), (4, "D")])
def test_who_always_gives_one_letter_picks_each_option_equally_often(count: int, letter: str) -> None:
    orders = math.factorial(count)
    measures = probe_measures([letter * orders] * 5)
    assert (measures.questions, measures.letters) == (5, {letter: 5 * orders})
    assert measures.mean == pytest.approx(1 / count)
    assert measures.agreement == pytest.approx(1 / count)


def test_a_missing_answer_is_unknown_unless_another_one_is_wrong() -> None:
    right, wrong = by_hand(3, 0), by_hand(3, 1)
    assert is_invariant(chosen_options("-" + right[1:])) is None
    assert is_invariant(chosen_options("-" + wrong[1:])) is False
    assert is_invariant(chosen_options("D" + right[1:])) is None  # no letter of three options
    measures = probe_measures(["-" + right[1:], "-" * 6])
    assert (measures.mean, measures.letters["-"]) == (1.0, 7)
    assert measures.agreement == pytest.approx(5 / 6)
    assert probe_measures(["-" * 6]).mean is None


@given(st.text("ABC-", min_size=6, max_size=6))
def test_agreement_lies_between_nothing_and_all(letters: str) -> None:
    chosen = chosen_options(letters)
    agreement = plurality_agreement(chosen)
    if agreement is None:
        assert letters == "------"
    else:
        assert 1 / 6 <= agreement <= 1
        assert agreement * 6 == max(chosen.count(option) for option in range(3))


@pytest.mark.parametrize("letters", ["", "ABC", "A" * 7, "A" * 25])
def test_letters_that_are_not_one_for_each_order_are_refused(letters: str) -> None:
    with pytest.raises(ValueError, match=f"{len(letters)} answers"):
        chosen_options(letters)
