"""The judges that come with the core: each gives a comment, a pair, a bug or a pull request one published label.

The labels, and the question of ``SameConcern`` (arXiv 2601.19494, figure 9), are the papers'. The prompts are ours.
"""

from __future__ import annotations

from pytest_crab.scoring.judges.labelling import LabelJudge
from pytest_crab.statistics.pull_classes import DOMAINS

#: The labels of a pair of comments.
SAME, DIFFERENT = CONCERNS = ("SAME", "DIFFERENT")

#: The words for the categories of findings, with those that AACR-Bench's data have for them.
CATEGORIES = {
    "SECURITY": "Security Vulnerability",
    "DEFECT": "Code Defect",
    "PERFORMANCE": "Performance",
    "MAINTAINABILITY": "Maintainability and Readability",
}

#: The labels of c-CRAB's filter (arXiv 2603.23448, section 4.2.1): fit for an oracle, or not.
HIGH, LOW = "HIGH", "LOW"

#: The label of a comment whose concern is restated.
CONCERN = "CONCERN"

#: The headings of a question about a bug.
_OF_BUG = ("The patch that fixed it later, on", "Bug to label, on")


class SameConcern(LabelJudge):
    """Tells whether a finding and a comment raise the same concern."""

    role = "same-concern"
    labels = CONCERNS
    headings = ("First comment, on", "Second comment, on")


class IssueCategory(LabelJudge):
    """Names the category of a finding, beside which no comment is shown (arXiv 2601.19494, table 7 and figure 20)."""

    role = "issue-category"
    labels = tuple(CATEGORIES)
    knows_hits = False
    headings = ("", "Comment to label, on")


class ReviewFilter(LabelJudge):
    """Tells comments that name a specific, actionable and verifiable issue from others."""

    role = "review-filter"
    labels = (HIGH, LOW)
    headings = ("", "Comment to label, on")


class OwnWords(LabelJudge):
    """Restates the concern of a comment: the reason of the label is the restatement (arXiv 2603.11078, step 11)."""

    role = "own-words"
    labels = (CONCERN, "NONE")
    headings = ("", "Comment to restate, on")


class DetectableBug(LabelJudge):
    """Tells bugs that a review of the pull request could have found (arXiv 2603.11078, algorithm 1, step 8)."""

    role = "detectable-bug"
    labels = ("DETECTABLE", "NOT_DETECTABLE")
    headings = _OF_BUG


class BugCategory(LabelJudge):
    """Names the root cause of a bug (arXiv 2603.11078, table 2; step 12)."""

    role = "bug-category"
    labels = (*("STRUCTURAL", "IIS", "RFF", "DATA"), *("CONCURRENCY", "MEMORY", "SECURITY", "CODING"))
    headings = _OF_BUG


class BugImpact(LabelJudge):
    """Names the quality of ISO/IEC 25010 that a bug harms (arXiv 2603.11078, table 2; step 12)."""

    role = "bug-impact"
    labels = (
        *("FUNCTIONAL_SUITABILITY", "PERFORMANCE_EFFICIENCY", "COMPATIBILITY", "USABILITY"),
        *("RELIABILITY", "SECURITY", "MAINTAINABILITY", "PORTABILITY"),
    )
    headings = _OF_BUG


class BugSeverity(LabelJudge):
    """Names how much a bug harms (arXiv 2603.11078, table 2; step 12)."""

    role = "bug-severity"
    labels = ("LOW", "MEDIUM", "HIGH")
    headings = _OF_BUG


class ProblemDomain(LabelJudge):
    """Names the problem domain of a pull request by title and description (arXiv 2601.19494, table 5)."""

    role = "problem-domain"
    labels = tuple(DOMAINS)
    headings = ("", "Title and description of")
