"""Findings of a whole trial: where they lie, which are set aside, and what the accounts say of both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_crab.results.explain import explain
from pytest_crab.show.page.rows import _facts
from pytest_crab.show.trial_view import show_trial

FINDING = {"path": "value.py", "start": 2, "body": "The value should be three."}


def test_a_finding_is_placed_or_named_and_a_bad_one_set_aside(lab: Any) -> None:
    lab.reviewing(
        [
            {**FINDING, "path": "b/value.py", "start": 2.0},
            {**FINDING, "path": "/workspace/value.py", "start": "2"},
            {**FINDING, "path": "elsewhere.py"},
            {**FINDING, "path": "elsewhere.py", "start": 7},
            {"body": "On the whole."},
            {"path": "value.py", "start": 2},
            {**FINDING, "path": "../value.py"},
            {**FINDING, "start": "two"},
        ]
    )
    trial = lab.trial()
    assert trial.review is not None, trial.error
    first, second, *_ = trial.review.findings
    assert (first.path, first.start) == (second.path, second.start) == ("value.py", 2)
    assert len(trial.review.findings) == 6
    assert trial.off_diff == ("elsewhere.py", "elsewhere.py")
    first_reason, second_reason = trial.review.set_aside
    assert "findings[5].body" in first_reason
    assert "findings[6].path" in second_reason
    accounts = (
        "\n".join(explain(trial)),
        "\n".join(line.text for line in show_trial(trial, None)),
        json.dumps(list(_facts(trial))),
    )
    for account in accounts:
        assert "2 findings (elsewhere.py)" in account
        assert "2 findings (findings[5].body" in account
        assert "1 finding (findings[7] has start ('two')" in account


@pytest.mark.parametrize(
    "finding", [{"path": "value.py"}, {**FINDING, "path": "../value.py"}, {**FINDING, "start": None, "starts_on": 2}]
)
def test_findings_of_which_none_can_be_read_are_no_review(lab: Any, finding: dict[str, Any]) -> None:
    lab.reviewing([finding])
    trial = lab.trial()
    assert trial.review is None
    assert set(lab.reasons(trial).values()) == {"reviewer error"}
