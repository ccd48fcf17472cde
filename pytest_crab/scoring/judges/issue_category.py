"""AACR-Bench's categories of findings (arXiv 2601.19494, table 7 and figure 20): a model names the one of a finding.

The categories are the paper's. The prompt is ours; no comment is shown beside the finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.scoring.judges.labelling import LabelJudge

#: The words of the judge, and the categories that the data have for them.
CATEGORIES = {
    "SECURITY": "Security Vulnerability",
    "DEFECT": "Code Defect",
    "PERFORMANCE": "Performance",
    "MAINTAINABILITY": "Maintainability and Readability",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueCategory(LabelJudge):
    """Asks a model for the category of a finding."""

    role: ClassVar[str] = "issue-category"
    labels: ClassVar[tuple[str, ...]] = tuple(CATEGORIES)
    knows_hits: ClassVar[bool] = False
    headings: ClassVar[tuple[str, str]] = ("", "Comment to label, on")
