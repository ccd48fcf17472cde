"""Trials for the report's tests, said in few words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import CommentResult, Finding, Provenance, Reason, Review, Trial

sys.path.insert(0, str(Path(__file__).parent))  # for report_reading


def _make_result(comment: str, reason: Reason, **fields: Any) -> CommentResult:
    return comment_result(comment, reason, **fields)


def _make_trial(reviewer: str, instance: str, *reasons: Reason | CommentResult, **fields: Any) -> Trial:
    results = tuple(
        reason if isinstance(reason, CommentResult) else _make_result(f"c{at}", reason)
        for at, reason in enumerate(reasons)
    )
    findings = fields.pop("findings", 0)
    known: dict[str, Any] = {
        "repo": "owner/name",
        "provenance": Provenance.AUTHORED,
        "agent": "claude-code",
        "runtime": "local",
        "review": None if findings is None else Review(findings=(Finding(body="x"),) * findings),
    }
    return trial_of(results, instance=instance, reviewer=reviewer, **{**known, **fields})


@pytest.fixture(scope="session")
def make_result() -> Callable[..., CommentResult]:
    return _make_result


@pytest.fixture(scope="session")
def make_trial() -> Callable[..., Trial]:
    """``make_trial(reviewer, instance, *reasons, findings=0, **fields)``; a reason stands for an oracle's result."""
    return _make_trial
