"""Trials for the report's tests, said in few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_crab.types import Category
from pytest_crab.types import Finding
from pytest_crab.types import Kind
from pytest_crab.types import OracleResult
from pytest_crab.types import Provenance
from pytest_crab.types import Reason
from pytest_crab.types import Review
from pytest_crab.types import Trial


def _make_result(comment: str, reason: Reason, **fields: Any) -> OracleResult:
    known: dict[str, Any] = {"category": Category.FUNCTIONAL, "kind": Kind.BEHAVIORAL, "verdict": reason.verdict}
    return OracleResult(comment=comment, reason=reason, **{**known, **fields})


def _make_trial(reviewer: str, instance: str, *reasons: Reason | OracleResult, **fields: Any) -> Trial:
    results = tuple(
        reason if isinstance(reason, OracleResult) else _make_result(f"c{at}", reason)
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
    return Trial(instance=instance, reviewer=reviewer, results=results, **{**known, **fields})


@pytest.fixture(scope="session")
def make_result() -> Callable[..., OracleResult]:
    return _make_result


@pytest.fixture(scope="session")
def make_trial() -> Callable[..., Trial]:
    """``make_trial(reviewer, instance, *reasons, findings=0, **fields)``; a reason stands for an oracle's result."""
    return _make_trial
