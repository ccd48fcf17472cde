"""The name of a trial: written and read by one type."""

from __future__ import annotations

import pytest

from pytest_crab.types import TrialId


@pytest.mark.parametrize(
    ("text", "trial"),
    [
        ("calc-1::ruff", TrialId("calc-1", "ruff")),
        ("calc-1::ruff@2[3]", TrialId("calc-1", "ruff@2", 3)),
        ("any [id]::ruff[12]", TrialId("any [id]", "ruff", 12)),
    ],
)
def test_a_name_is_read_as_it_is_written(text: str, trial: TrialId) -> None:
    assert str(trial) == text
    assert TrialId.parse(text) == trial


def test_the_first_repeat_may_be_spelled_out() -> None:
    assert TrialId.parse("calc-1::ruff[1]") == TrialId("calc-1", "ruff", 1)


@pytest.mark.parametrize("text", ["", "calc-1", "::ruff", "calc-1::"])
def test_what_names_no_trial_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="INSTANCE::REVIEWER"):
        TrialId.parse(text)
