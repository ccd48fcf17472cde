"""A reviewer is given up when its first trials all failed, for one cause."""

from __future__ import annotations

import pytest

from pytest_crab.campaign.giving_up import GIVEN_UP, GivingUp
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, Kind, Provenance, Reason, Trial


def trial(at: int, reason: Reason, error: str | None, status: str | None = None, reviewer: str = "x") -> Trial:
    result = comment_result("c0", category=Category.DESIGN, kind=Kind.BEHAVIORAL, reason=reason)
    return trial_of(
        instance=f"owner__name-{at}", repo=f"owner/name{at}", provenance=Provenance.AUTHORED, reviewer=reviewer,
        agent="a", runtime="local", results=(result,), error=error, status=status,
    )  # fmt: skip


AUTH = (Reason.REVIEWER_ERROR, "reviewer x: m ended as auth: it answered 401: no", "auth")


def noted(most: int, *trials: Trial) -> list[bool]:
    giving_up = GivingUp(most)
    return [giving_up.note(one) for one in trials]


def test_the_first_failures_of_one_cause_are_enough() -> None:
    giving_up = GivingUp(3)
    assert [giving_up.note(trial(at, *AUTH)) for at in range(5)] == [False, False, True, False, False]
    sentence = giving_up.sentence("x")
    assert sentence is not None
    assert sentence.startswith(f"{GIVEN_UP} on x: its first 3 trials failed alike")
    assert "it answered 401" in sentence
    assert "--crab-give-up=0" in sentence


def test_reviewers_are_counted_apart() -> None:
    giving_up = GivingUp(2)
    for at in range(2):
        giving_up.note(trial(at, *AUTH))
        giving_up.note(trial(at, *AUTH, reviewer="y") if at else trial(at, Reason.FAILED, None, reviewer="y"))
    assert giving_up.sentence("x") is not None
    assert giving_up.sentence("y") is None


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ((Reason.REVIEWER_ERROR, "reviewer x: other words", "auth"), True),
        ((Reason.REVIEWER_ERROR, "reviewer x: m ended as timeout", "timeout"), False),
        ((Reason.AGENT_ERROR, "agent a: m ended as auth: it answered 401: no", "auth"), False),
        ((Reason.FAILED, None, None), False),
        ((Reason.NO_FINDINGS, None, None), False),
        ((Reason.NOT_RUN, "the run was stopped", None), False),
    ],
)
def test_alike_is_the_same_reason_and_status(other: tuple[Reason, str | None, str | None], *, alike: bool) -> None:
    assert any(noted(2, trial(0, *AUTH), trial(1, *other))) is alike
    assert any(noted(2, trial(1, *other), trial(0, *AUTH), trial(2, *AUTH))) is alike


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("image broke: no space left on /a/b", "image broke: no space left on /c", True),
        ("image broke: building owner__name-0 took 31 s", "image broke: building owner__name-1 took 900 s", True),
        ("image broke: 'numpy' cannot be built", "proof broke: 'numpy' cannot be built", False),
    ],
)
def test_what_broke_without_a_status_is_told_by_its_words(first: str, second: str, *, alike: bool) -> None:
    assert any(noted(2, trial(0, Reason.BROKEN, first), trial(1, Reason.BROKEN, second))) is alike


def test_nothing_turns_it_on_again_or_off_by_itself() -> None:
    assert not any(noted(0, *[trial(at, *AUTH) for at in range(9)]))
    late = [trial(9, Reason.FAILED, None), *[trial(at, *AUTH) for at in range(9)]]
    assert not any(noted(3, *late))
