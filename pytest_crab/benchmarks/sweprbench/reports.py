"""Recorded reports of SWE-PRBench's harness: one judged review in each record, with its counts and its score."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.benchmarks.sweprbench.measures import ReviewCounts
from pytest_crab.errors import BadInput

#: The files that the harness writes.
REPORTS = "eval_report*.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScore:
    """One record of a judged review."""

    instance: str
    reviewer: str
    difficulty: str
    #: Those of the judged review.
    counts: ReviewCounts
    #: The score that the harness gave it.
    overall: float
    #: The share of findings on no added line, as the harness has it.
    adjacent: float


def has_reports(folder: Path) -> bool:
    """Return True if the folder holds reports of the harness."""
    return any(folder.glob(REPORTS))


def read_reports(folder: Path) -> list[RecordedScore]:
    """Read the records of every report in a folder. Raises BadInput for a file of another shape, with its name."""
    files = sorted(folder.glob(REPORTS))
    return [score for file in files for score in _read(file, f"{file.stem}: " if len(files) > 1 else "")]


def _read(file: Path, prefix: str) -> Iterator[RecordedScore]:
    try:
        records = list(json.loads(file.read_bytes())["records"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise BadInput(str(file), [f"it is no report of SWE-PRBench's harness ({type(error).__name__})"]) from error
    for number, record in enumerate(records):
        try:
            yield _score(record, prefix)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            what = f"record {number} is of another shape ({type(error).__name__}: {str(error)[:80]})"
            raise BadInput(
                str(file), [f"{what}; the layout that is read is that of the harness of March 2026"]
            ) from error


def _score(record: Mapping[str, Any], prefix: str) -> RecordedScore:
    findings = int(record["total_agent_comments"])
    readable = bool(record["agent_parse_success"])
    counts = ReviewCounts(
        human=int(record["total_human_comments"]),
        unreadable=not readable,
        **(_labels(record, findings) if readable and findings else {}),
    )
    if min(counts.human, findings, counts.confirmed, counts.plausible, counts.fabricated) < 0:
        raise ValueError("a count is below 0")
    if readable and counts.agent != findings:
        raise ValueError(f"its labels add up to {counts.agent} of {findings} findings")
    return RecordedScore(
        instance=str(record["task_id"]),
        reviewer=f"{prefix}{record['model']}, {record['config_name']}",
        difficulty=str(record["difficulty"]),
        counts=counts,
        overall=float(record["overall_score"]),
        adjacent=float(record["adjacent_detection_rate"]),
    )


def _labels(record: Mapping[str, Any], findings: int) -> dict[str, Any]:
    """Return what the judge and the matching said of a review with findings."""
    return {
        "confirmed": int(record["confirmed_count"]),
        "plausible": int(record["plausible_count"]),
        "fabricated": int(record["fabricated_count"]),
        "clusters": findings - round(float(record["redundancy_penalty"]) * findings),
        "alignment": float(record["semantic_alignment"]),
        "actionability": 1 + 4 * float(record["actionability_score"]),
        "fallback": bool(record["judge_parse_fallback_used"]),
    }
