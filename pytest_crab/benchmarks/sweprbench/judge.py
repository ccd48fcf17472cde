"""SWE-PRBench's judge (arXiv 2603.26130, section 5.2): a model labels one finding against one human comment.

The labels and their criteria are the paper's, or the looser ones of its release. The prompts are ours. The release asks
once for a whole review; here each finding and comment is a question of its own, so that it is paid for once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_crab.benchmarks.sweprbench.measures import LABELS, PAPER, RULES
from pytest_crab.clients.prompting import instructions
from pytest_crab.clients.whole_parts import CHARACTERS_PER_TOKEN, file_diffs, fit
from pytest_crab.scoring.judges.labelling import LabelJudge
from pytest_crab.scoring.judges.votes import JudgeQuestion

#: So much of a diff is shown, in characters; a file that does not fit is left out whole.
LONGEST_DIFF = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SwePrbenchJudge(LabelJudge):
    """Asks a model whether a finding is confirmed by a comment, plausible or fabricated, and how actionable it is."""

    role: ClassVar[str] = "swe-prbench"
    package: ClassVar[str] = __package__
    labels: ClassVar[tuple[str, ...]] = LABELS
    headings: ClassVar[tuple[str, str]] = ("Human comment, on", "Comment to label, on")
    rates: ClassVar[bool] = True
    #: The prompt decides, and not the name of its criteria.
    beside_identity = LabelJudge.beside_identity | {"criteria"}

    #: Those of the paper or of the release.
    criteria: str = PAPER

    def __post_init__(self) -> None:
        if self.criteria not in RULES:
            raise ValueError(f"criteria is {self.criteria!r}; it should be one of {', '.join(RULES)}")
        LabelJudge.__post_init__(self)

    def instructions(self) -> str:
        """Return the text that goes before the data."""
        role = self.role if self.criteria == PAPER else f"{self.role}-{self.criteria}"
        return instructions(role, self.prompt, self.folder, self.package)

    def code(self, question: JudgeQuestion) -> str:
        """Return the diffs of the files with the most changes and decisions, tests last, as far as they fit."""
        files = sorted(file_diffs(question.diff), key=lambda file: (file.is_test, -(file.changed + 3 * file.logic)))
        kept, left_out = fit(files, LONGEST_DIFF // CHARACTERS_PER_TOKEN)
        names = [f"(not shown: {', '.join(part.name for part in left_out)})"] if left_out else []
        return "\n".join([*(part.text for part in kept), *names])
