"""CR-Evaluator (arXiv 2603.11078, section 5 and listing 6): a model labels one finding against one known issue.

The labels are the paper's. The prompt is ours: it shows the same fields, as data that is marked as such.
"""

from __future__ import annotations

from pytest_crab.scoring.judges.labelling import LabelJudge
from pytest_crab.statistics.signal import LABELS


class CrEvaluator(LabelJudge):
    """Asks a model for one of the three labels."""

    role = "cr-evaluator"
    package = __package__
    labels = LABELS
    headings = ("Known issue, in", "Comment to label, on")
