"""Judges for curation: each gives review comments, bugs or pull requests one label of a published taxonomy.

The labels are the papers'; the prompts are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.scoring.judges.labelling import LabelJudge
from pytest_crab.statistics.pull_classes import DOMAINS

#: The labels of c-CRAB's filter (arXiv 2603.23448, section 4.2.1): fit for an oracle, or not.
HIGH, LOW = "HIGH", "LOW"

#: The label of a comment whose concern is restated.
CONCERN = "CONCERN"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter(LabelJudge):
    """Tells comments that name a specific, actionable and verifiable issue from others."""

    role: ClassVar[str] = "review-filter"
    labels: ClassVar[tuple[str, ...]] = (HIGH, LOW)
    headings: ClassVar[tuple[str, str]] = ("", "Comment to label, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords(LabelJudge):
    """Restates the concern of a comment: the reason of the label is the restatement (arXiv 2603.11078, step 11)."""

    role: ClassVar[str] = "own-words"
    labels: ClassVar[tuple[str, ...]] = (CONCERN, "NONE")
    headings: ClassVar[tuple[str, str]] = ("", "Comment to restate, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableBug(LabelJudge):
    """Tells bugs that a review of the pull request could have found (arXiv 2603.11078, algorithm 1, step 8)."""

    role: ClassVar[str] = "detectable-bug"
    labels: ClassVar[tuple[str, ...]] = ("DETECTABLE", "NOT_DETECTABLE")
    headings: ClassVar[tuple[str, str]] = ("The patch that fixed it later, on", "Bug to label, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class BugCategory(LabelJudge):
    """Names the root cause of a bug (arXiv 2603.11078, table 2; step 12)."""

    role: ClassVar[str] = "bug-category"
    labels: ClassVar[tuple[str, ...]] = (
        *("STRUCTURAL", "IIS", "RFF", "DATA"),
        *("CONCURRENCY", "MEMORY", "SECURITY", "CODING"),
    )
    headings: ClassVar[tuple[str, str]] = ("The patch that fixed it later, on", "Bug to label, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class BugImpact(LabelJudge):
    """Names the quality of ISO/IEC 25010 that a bug harms (arXiv 2603.11078, table 2; step 12)."""

    role: ClassVar[str] = "bug-impact"
    labels: ClassVar[tuple[str, ...]] = (
        *("FUNCTIONAL_SUITABILITY", "PERFORMANCE_EFFICIENCY", "COMPATIBILITY", "USABILITY"),
        *("RELIABILITY", "SECURITY", "MAINTAINABILITY", "PORTABILITY"),
    )
    headings: ClassVar[tuple[str, str]] = ("The patch that fixed it later, on", "Bug to label, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class BugSeverity(LabelJudge):
    """Names how much a bug harms (arXiv 2603.11078, table 2; step 12)."""

    role: ClassVar[str] = "bug-severity"
    labels: ClassVar[tuple[str, ...]] = ("LOW", "MEDIUM", "HIGH")
    headings: ClassVar[tuple[str, str]] = ("The patch that fixed it later, on", "Bug to label, on")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemDomain(LabelJudge):
    """Names the problem domain of a pull request by title and description (arXiv 2601.19494, table 5)."""

    role: ClassVar[str] = "problem-domain"
    labels: ClassVar[tuple[str, ...]] = tuple(DOMAINS)
    headings: ClassVar[tuple[str, str]] = ("", "Title and description of")
