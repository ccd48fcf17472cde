from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_crab.results.labelled_findings import confidence_word
from pytest_crab.results.summary import summarise
from pytest_crab.show.terminal import summary_lines
from pytest_crab.types import CONTROL, Finding, Reason, Review, Trial

MakeTrial = Callable[..., Trial]

GREEN, FAILED = Reason.GREEN, Reason.FAILED


def review(*labels: tuple[str, str]) -> Review:
    """A review with a finding for each severity and confidence."""
    return Review(findings=tuple(Finding(body="x", severity=word, confidence=sure) for word, sure in labels))


@pytest.fixture
def trials(make_trial: MakeTrial) -> list[Trial]:
    """Of five known verdicts high findings caught two, a low one caught one of these too; three led to nothing."""
    first = review(("high", "0.9"), ("low", "0.9"), ("low", "0.1"))
    second = review(("high", "95%"), ("high", "sure"))
    return [
        make_trial("mine", "a", GREEN, FAILED, GREEN, review=first, attribution={"c0": (0, 1), "c2": (0,)}),
        make_trial("mine", "b", FAILED, FAILED, review=second, attribution={}),
    ]


def test_catch_rate_and_burden_are_counted_by_label(trials: list[Trial]) -> None:
    (mine,) = summarise(trials).reviewers
    high, low = (mine.findings_by_label["severity"][word] for word in ("high", "low"))
    assert (high.findings, high.caught, high.oracles, high.idle, high.reviews) == (3, 2, 5, 2, 2)
    assert (high.catch_rate, high.burden) == (0.4, 1.0)
    assert (low.findings, low.catch_rate, low.burden) == (2, 0.2, 0.5)
    assert {word: one.findings for word, one in mine.findings_by_label["confidence"].items()} == {
        "75 to 100%": 3,
        "0 to 25%": 1,
        "sure": 1,
    }
    lines = [" ".join(line.text.split()) for line in summary_lines(summarise(trials), 200)]
    assert {"high: catch rate % 40.0", "high: burden per PR 1.00", "low: burden per PR 0.50"} <= set(lines)


def test_what_the_control_catches_is_no_labels_effect(trials: list[Trial], make_trial: MakeTrial) -> None:
    control = make_trial("none", "a", GREEN, FAILED, FAILED, variant=CONTROL)
    (mine, _) = summarise([*trials, control]).reviewers
    low = mine.findings_by_label["severity"]["low"]
    assert (low.caught, low.idle) == (0, 2)


def test_without_causes_on_record_only_counts_are_known(make_trial: MakeTrial) -> None:
    (mine,) = summarise([make_trial("mine", "a", GREEN, review=review(("high", "0.5")))]).reviewers
    own = mine.findings_by_label["severity"]["high"]
    assert (own.findings, own.catch_rate, own.burden) == (1, None, None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *(("0", "0 to 25%"), ("0.25", "25 to 50%"), ("1", "75 to 100%"), ("1.0", "75 to 100%")),
        *(("40", "25 to 50%"), ("1%", "0 to 25%"), ("100", "75 to 100%")),
        *(("high", "high"), ("101", "101"), ("-0.1", "-0.1"), ("nan", "nan")),
    ],
)
def test_a_number_is_the_quarter_that_it_lies_in(text: str, word: str) -> None:
    assert confidence_word(text) == word
