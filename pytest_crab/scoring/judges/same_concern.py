"""AACR-Bench's semantic match (arXiv 2601.19494, figure 9): whether two comments raise one concern.

The question is the paper's. The prompt is ours: it shows the same fields, as data that is marked as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.scoring.judges.labelling import LabelJudge

#: The labels of a pair of comments.
SAME, DIFFERENT = CONCERNS = ("SAME", "DIFFERENT")


@dataclass(frozen=True, slots=True, kw_only=True)
class SameConcern(LabelJudge):
    """Asks a model whether a finding and a comment raise the same concern."""

    role: ClassVar[str] = "same-concern"
    labels: ClassVar[tuple[str, ...]] = CONCERNS
    headings: ClassVar[tuple[str, str]] = ("First comment, on", "Second comment, on")
