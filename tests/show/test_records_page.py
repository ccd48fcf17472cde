from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from pytest_crab.results import gate_record, summary
from pytest_crab.results.comparisons import Lift, Overlap, Pair, Together
from pytest_crab.results.explained import ExplainedRates, LookFirst
from pytest_crab.results.labelled_findings import LabelledFindings
from pytest_crab.results.mediators import AgentPair, AgentResult, Mediators
from pytest_crab.results.model_usage import ModelUsage
from pytest_crab.results.oracle_errors import MeasuredErrors
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.rates import Rate
from pytest_crab.results.recorded_rulers import RecordedRuler
from pytest_crab.results.review_cost import Burden, CleanReviews
from pytest_crab.results.reviewer_summary import Regressions, ReviewerSummary
from pytest_crab.results.ruler_means import RulerMean
from pytest_crab.results.stability import Stability
from pytest_crab.scoring.judges.calibration import Calibration
from pytest_crab.statistics.comparison import Comparison, Interval
from pytest_crab.statistics.labels import LabelComparison
from pytest_crab.types import (
    ErrorRate,
    Explanation,
    Finding,
    Reason,
    Review,
    Revision,
    RevisionCommit,
    Score,
    ScoredComment,
    StepRecord,
    TestOutcome,
    Trial,
    Usage,
)
from pytest_crab.types.reviews import ScorerUsage, SuggestionCounts

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "records.md").read_text(encoding="utf-8")
RECORDS = [
    Trial,
    Review,
    Finding,
    Revision,
    RevisionCommit,
    Explanation,
    Usage,
    ScoredComment,
    ErrorRate,
    Score,
    ScorerUsage,
    TestOutcome,
    StepRecord,
    summary.Summary,
    LookFirst,
    MeasuredErrors,
    ReviewerSummary,
    ExplainedRates,
    ModelUsage,
    LabelledFindings,
    CleanReviews,
    RulerMean,
    RecordedRuler,
    Calibration,
    Rate,
    SuggestionCounts,
    Regressions,
    Interval,
    OracleRecord,
    Burden,
    Lift,
    Stability,
    Mediators,
    AgentResult,
    AgentPair,
    Comparison,
    Together,
    Overlap,
    Pair,
    LabelComparison,
    gate_record.Gate,
    gate_record.GateRuling,
]


def section(name: str) -> str:
    (text,) = re.findall(rf"^### {name}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_documented_in_its_order(record: type) -> None:
    table = section(record.__name__).split("| verdict |", maxsplit=1)[0]
    documented = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert documented == [field.name for field in dataclasses.fields(record)]


def test_every_record_of_the_page_exists() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, re.MULTILINE) == [record.__name__ for record in RECORDS]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_stands_beside_its_verdict(reason: Reason) -> None:
    (row,) = [line for line in section("Score").splitlines() if line.startswith(f"| `{reason.verdict}` |")]
    assert f"`{reason}`" in row


@pytest.mark.parametrize("outcome", summary.OUTCOMES)
def test_every_outcome_is_named(outcome: str) -> None:
    (row,) = [line for line in section("ReviewerSummary").splitlines() if line.startswith("| `outcomes` |")]
    assert f"`{outcome}`" in row
